package embeddings

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/toolscout/toolscout/core"
)

// The protocols of embedding services.
const (
	OpenAI = "openai" // POST BaseURL/embeddings
	Ollama = "ollama" // POST BaseURL/api/embed
)

const (
	defaultBatch = 32 // what text-embeddings-inference takes at once, the least of all
	parallel     = 4  // batches of one Embed under way at the same time
)

// HTTPConfig is what an embedding service is reached by.
type HTTPConfig struct {
	// Provider is the protocol: OpenAI or Ollama.
	Provider string
	// BaseURL is where the service is; by default that of the provider.
	BaseURL string
	Model   string
	// APIKey is sent as a bearer token unless it is empty.
	APIKey string
	// Dimensions is the length of vector on record; 0 takes the first answer's.
	Dimensions int
	// Client makes the requests: it decides which addresses may be reached.
	Client *http.Client
	// BatchSize is the number of texts in one request; 32 by default.
	BatchSize int
}

// HTTP is an embedding model behind a service. It is safe for concurrent use.
type HTTP struct {
	config   HTTPConfig
	protocol protocol
	url      string

	dimensions atomic.Int64
}

// NewHTTP checks the configuration; it does not reach out. The errors are
// core.InvalidParams.
func NewHTTP(config HTTPConfig) (*HTTP, error) {
	p, ok := protocols[config.Provider]
	if !ok {
		return nil, core.Errorf(core.InvalidParams, "unknown embedding provider %q: use %s or %s",
			config.Provider, OpenAI, Ollama)
	}
	if config.Model == "" {
		return nil, core.Errorf(core.InvalidParams, "the embedding provider %s needs a model", config.Provider)
	}
	if config.BaseURL == "" {
		config.BaseURL = p.base
	}
	base, err := url.Parse(config.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, core.Errorf(core.InvalidParams,
			"the base URL of the embedding service must be like http://host:port/v1").Because(bare(err))
	}
	if config.Client == nil {
		return nil, core.Errorf(core.InvalidParams, "the embedding provider %s needs an HTTP client", config.Provider)
	}
	if config.BatchSize <= 0 {
		config.BatchSize = defaultBatch
	}
	h := &HTTP{config: config, protocol: p, url: base.JoinPath(p.path).String()}
	h.dimensions.Store(int64(config.Dimensions))
	return h, nil
}

// Name is the provider and the model.
func (h *HTTP) Name() string { return h.config.Provider + "/" + h.config.Model }

// Dimensions is the length of the model's vectors; 0 until the first answer.
func (h *HTTP) Dimensions() int { return int(h.dimensions.Load()) }

// Probe asks for one vector, so that the model is known to work and its
// dimensions are known: those of this answer, unless some were configured. An
// earlier answer may have been another model's.
func (h *HTTP) Probe(ctx context.Context) error {
	h.dimensions.Store(int64(h.config.Dimensions))
	_, err := h.batch(ctx, []string{"dimensions"})
	return err
}

// Embed asks the service in batches, again after 429 and 5xx. Every vector is
// made a unit vector; a blank text gets the zero vector without being sent. A
// service that cannot be reached, or not now, is core.Unavailable, with
// RetryAfter where it said so; one that answers nonsense is core.UpstreamError.
func (h *HTTP) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if h.Dimensions() == 0 {
		if err := h.Probe(ctx); err != nil {
			return nil, err
		}
	}
	vectors := make([][]float32, len(texts))
	var send []int
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			vectors[i] = make([]float32, h.Dimensions())
			continue
		}
		send = append(send, i)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for len(send) > 0 {
		n := min(h.config.BatchSize, len(send))
		places := send[:n]
		send = send[n:]
		group.Go(func() error {
			batch := make([]string, len(places))
			for i, at := range places {
				batch[i] = texts[at]
			}
			got, err := h.batch(ctx, batch)
			if err != nil {
				return fmt.Errorf("embed %d texts with %s: %w", len(batch), h.Name(), err)
			}
			for i, at := range places {
				vectors[at] = got[i]
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return vectors, nil
}

// check refuses a batch of the wrong size or dimension, puts the dimension on
// record when it is the first, and makes unit vectors.
func (h *HTTP) check(vectors [][]float32, want int) error {
	if len(vectors) != want {
		return core.Errorf(core.UpstreamError, "the embedding service answered %d vectors to %d texts", len(vectors), want)
	}
	for i, v := range vectors {
		if len(v) == 0 {
			return core.Errorf(core.UpstreamError, "the embedding service answered an empty vector (number %d)", i)
		}
		h.dimensions.CompareAndSwap(0, int64(len(v)))
		if len(v) != h.Dimensions() {
			return core.Errorf(core.UpstreamError, "the model answered %d dimensions, %d are on record", len(v), h.Dimensions()).
				WithHint("Another model answers under the name %q: give it a name of its own and index anew.", h.config.Model)
		}
		normalise(v)
	}
	return nil
}
