package embeddings_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/builtin"
	"github.com/toolscout/toolscout/embeddings/embedtest"
)

const key = "sk-very-secret"

// model connects to a service over loopback.
func model(t *testing.T, s *embedtest.Server, edit func(*embeddings.HTTPConfig)) *embeddings.HTTP {
	t.Helper()
	config := embeddings.HTTPConfig{Provider: embeddings.OpenAI, BaseURL: s.URL + "/v1/", Model: "small",
		APIKey: key, Client: http.DefaultClient}
	if edit != nil {
		edit(&config)
	}
	h, err := embeddings.NewHTTP(config)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func ollama(s *embedtest.Server) func(*embeddings.HTTPConfig) {
	return func(c *embeddings.HTTPConfig) { c.Provider, c.BaseURL = embeddings.Ollama, s.URL }
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{embeddings.OpenAI, embeddings.Ollama} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			server := embedtest.New(t)
			h := model(t, server, func(c *embeddings.HTTPConfig) {
				if provider == embeddings.Ollama {
					ollama(server)(c)
				}
				c.BatchSize = 3
			})
			if h.Dimensions() != 0 {
				t.Errorf("%d dimensions before the first answer", h.Dimensions())
			}
			var texts []string
			for i := range 20 {
				texts = append(texts, fmt.Sprintf("read file %d", i))
			}
			texts[7] = " \n"
			got, err := h.Embed(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			if h.Dimensions() != 256 || h.Name() != provider+"/small" {
				t.Errorf("%s has %d dimensions", h.Name(), h.Dimensions())
			}
			want := builtinVectors(t, texts)
			for i := range texts {
				if !near(got[i], want[i]) {
					t.Errorf("the vector of %q is another text's or no unit vector", texts[i])
				}
			}
			checkRequests(t, server.Requests())
		})
	}
}

func checkRequests(t *testing.T, requests []embedtest.Request) {
	t.Helper()
	if len(requests) != 8 { // the probe, and 19 texts by three
		t.Errorf("%d requests, want 8", len(requests))
	}
	for _, r := range requests {
		if r.Key != "Bearer "+key || r.Model != "small" || len(r.Input) > 3 {
			t.Errorf("asked %+v", r)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		failure embedtest.Failure
		kind    core.Kind
		message string
	}{
		{"unauthorized", embedtest.Unauthorized, core.UpstreamError, "answered 401"},
		{"another dimension", embedtest.MoreDimensions, core.UpstreamError, "the model answered 257 dimensions, 256 are on record"},
		{"too few vectors", embedtest.FewerVectors, core.UpstreamError, "answered 1 vectors to 2 texts"},
		{"one index for all", embedtest.SameIndex, core.UpstreamError, "cannot be read"},
		{"not a number", embedtest.NotFinite, core.UpstreamError, "cannot be read"},
		{"a web page", embedtest.HTML, core.UpstreamError, "cannot be read"},
		{"5xx again and again", embedtest.ServerError, core.Unavailable, "answered 500"},
		{"broken off", embedtest.Truncated, core.Unavailable, "broke off"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := embedtest.New(t)
			h := model(t, server, func(c *embeddings.HTTPConfig) { c.Dimensions = 256 })
			server.FailAlways(test.failure)
			_, err := h.Embed(t.Context(), []string{"one", "two"})
			var e *core.Error
			if !errors.As(err, &e) || e.Kind != test.kind || !strings.Contains(e.Message, test.message) {
				t.Fatalf("got %v, want %s with %q", err, test.kind, test.message)
			}
			if strings.Contains(err.Error(), key) || strings.Contains(e.Hint, key) {
				t.Errorf("the key is in the error: %v", err)
			}
			server.FailAlways(embedtest.None)
			if _, err := h.Embed(t.Context(), []string{"one"}); err != nil {
				t.Errorf("after the failure has passed: %v", err)
			}
		})
	}
}

func TestOllamaFailures(t *testing.T) {
	t.Parallel()
	server := embedtest.New(t)
	h := model(t, server, ollama(server))
	if err := h.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, f := range []embedtest.Failure{embedtest.NotFinite, embedtest.FewerVectors, embedtest.MoreDimensions, embedtest.HTML} {
		server.Fail(f)
		if _, err := h.Embed(t.Context(), []string{"one"}); !errors.Is(err, core.UpstreamError) {
			t.Errorf("failure %d: %v", f, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := embedtest.New(t)
	h := model(t, server, func(c *embeddings.HTTPConfig) { c.BaseURL = "http://user:" + key + "@127.0.0.1:1/v1?k=" + key })
	err := h.Probe(t.Context())
	if !errors.Is(err, core.Unavailable) || strings.Contains(err.Error(), key) {
		t.Errorf("got %v", err)
	}
}

// TestWaits runs in a bubble, over a network in memory, so that the waiting takes
// no time and can be measured to the millisecond.
func TestWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := embedtest.NewService(t)
		client := serve(t, service)
		h, err := embeddings.NewHTTP(embeddings.HTTPConfig{Provider: embeddings.OpenAI,
			BaseURL: "http://service/v1", Model: "small", Client: client, Dimensions: 256})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(ctx context.Context) (time.Duration, error) {
			start := time.Now()
			_, err := h.Embed(ctx, []string{"one"})
			return time.Since(start), err
		}
		service.Fail(embedtest.ServerError, embedtest.ServerError)
		if took, err := ask(t.Context()); err != nil || took < 150*time.Millisecond || took > 300*time.Millisecond {
			t.Errorf("after two 500s: %v, %v", took, err)
		}
		service.Fail(embedtest.RateLimited)
		if took, err := ask(t.Context()); err != nil || took != 2*time.Second {
			t.Errorf("after 429 with Retry-After 2: %v, %v", took, err)
		}
		service.Fail(embedtest.HangUp)
		if took, err := ask(t.Context()); err != nil || took > 100*time.Millisecond {
			t.Errorf("after a connection that broke off: %v, %v", took, err)
		}
		service.FailAlways(embedtest.RateLimited)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		took, err := ask(ctx)
		var e *core.Error
		if !errors.As(err, &e) || e.RetryAfter != 2*time.Second || took != 0 {
			t.Errorf("when waiting is of no use: %v, %v", took, err)
		}
		service.FailAlways(embedtest.Stall)
		if took, err := ask(t.Context()); !errors.Is(err, core.Unavailable) || took != time.Minute {
			t.Errorf("a service that stalls: %v, %v", took, err)
		}
		start := time.Now()
		_, err = h.Embed(t.Context(), []string{"one", "two", "three"})
		if took := time.Since(start); !errors.Is(err, core.Unavailable) || took != time.Minute+20*time.Second {
			t.Errorf("one that stalls over three texts: %v, %v", took, err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Probe(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who gives up: %v", err)
		}
	})
}

// serve serves a handler over pipes.
func serve(t *testing.T, handler http.Handler) *http.Client {
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	var wait sync.WaitGroup
	wait.Go(func() { _ = server.Serve(l) })
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		select {
		case l.conns <- far:
			return near, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		wait.Wait()
	})
	return &http.Client{Transport: transport}
}

type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func TestNewHTTPRefuses(t *testing.T) {
	t.Parallel()
	good := embeddings.HTTPConfig{Provider: embeddings.Ollama, Model: "m", Client: http.DefaultClient}
	if _, err := embeddings.NewHTTP(good); err != nil {
		t.Errorf("defaults: %v", err)
	}
	edits := map[string]func(*embeddings.HTTPConfig){
		"provider": func(c *embeddings.HTTPConfig) { c.Provider = "acme" },
		"model":    func(c *embeddings.HTTPConfig) { c.Model = "" },
		"client":   func(c *embeddings.HTTPConfig) { c.Client = nil },
		"scheme":   func(c *embeddings.HTTPConfig) { c.BaseURL = "ftp://host" },
		"no url":   func(c *embeddings.HTTPConfig) { c.BaseURL = "http://%zz:" + key + "@" },
	}
	for name, edit := range edits {
		c := good
		edit(&c)
		if _, err := embeddings.NewHTTP(c); !errors.Is(err, core.InvalidParams) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func builtinVectors(t *testing.T, texts []string) [][]float32 {
	t.Helper()
	m, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := m.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func near(a, b []float32) bool {
	for i := range a {
		if d := a[i] - b[i]; d > 1e-4 || d < -1e-4 {
			return false
		}
	}
	return len(a) == len(b)
}
