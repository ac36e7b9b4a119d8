// Package embedtest is a real embedding service for tests. It speaks the
// protocols of OpenAI (/v1/embeddings) and Ollama (/api/embed), answers with the
// vectors of the built-in model, and fails on demand.
package embedtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/toolscout/toolscout/embeddings/builtin"
)

// Failure is one way for an answer to go wrong.
type Failure int

// The failures.
const (
	// None answers as it should.
	None Failure = iota
	// RateLimited is 429 with Retry-After: 2.
	RateLimited
	// ServerError is 500.
	ServerError
	// Unauthorized is 401, and repeats the key it was given.
	Unauthorized
	// MoreDimensions answers vectors that are one number longer.
	MoreDimensions
	// FewerVectors leaves out the last vector.
	FewerVectors
	// SameIndex numbers all vectors 0 (OpenAI's protocol only).
	SameIndex
	// NotFinite puts null, which some servers write for NaN, into a vector.
	NotFinite
	// HTML is a web page with status 200.
	HTML
	// Stall does not answer until the client goes away.
	Stall
	// Truncated breaks off in the middle of the body.
	Truncated
	// HangUp reads the request and closes the connection.
	HangUp
)

// Service is the service's handler. Its zero value is not ready: use NewService.
type Service struct {
	model *builtin.Model

	mu       sync.Mutex
	next     []Failure // of the coming answers
	always   Failure   // of all others
	requests []Request
}

// Request is what the service was asked.
type Request struct {
	Path  string
	Key   string // the Authorization header
	Model string
	Input []string
}

// NewService makes the handler alone.
func NewService(t testing.TB) *Service {
	t.Helper()
	model, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	return &Service{model: model}
}

// Server is a Service that listens on a loopback address.
type Server struct {
	*Service
	// URL is the service's root; OpenAI's base URL is URL + "/v1".
	URL string
}

// New starts a service that stops with the test.
func New(t testing.TB) *Server {
	t.Helper()
	service := NewService(t)
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections) // ends what stalls
	return &Server{Service: service, URL: server.URL}
}

// Fail makes the next answers fail, in this order; later ones are as before.
func (s *Service) Fail(next ...Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, next...)
}

// FailAlways makes every answer fail, or none when f is None.
func (s *Service) FailAlways(f Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.always = nil, f
}

// Requests gives what was asked so far.
func (s *Service) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// ServeHTTP answers one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Model string
		Input []string
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	failure := s.record(Request{r.URL.Path, r.Header.Get("Authorization"), asked.Model, asked.Input})
	switch failure {
	case RateLimited:
		w.Header().Set("Retry-After", "2")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	case ServerError:
		http.Error(w, "out of memory", http.StatusInternalServerError)
	case Unauthorized:
		http.Error(w, "bad key "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	case HTML:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>Welcome</title>")
	case Stall:
		<-r.Context().Done()
	case HangUp:
		panic(http.ErrAbortHandler)
	default:
		s.answer(w, r.URL.Path, asked.Input, failure)
	}
}

func (s *Service) record(r Request) Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if len(s.next) == 0 {
		return s.always
	}
	f := s.next[0]
	s.next = s.next[1:]
	return f
}

func (s *Service) answer(w http.ResponseWriter, path string, texts []string, failure Failure) {
	body, ok := encode(path, s.vectors(texts, failure), failure)
	if !ok {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if failure != Truncated {
		_, _ = w.Write(body) // the client may have gone
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body[:len(body)/2])
	panic(http.ErrAbortHandler)
}

// vectors are not normalised: services differ in that, and clients must not rely
// on it. A nil number is written as null.
func (s *Service) vectors(texts []string, failure Failure) [][]*float32 {
	list := make([][]*float32, len(texts))
	for i, text := range texts {
		v, _ := s.model.Encode(text)
		if failure == MoreDimensions {
			v = append(v, 1)
		}
		for j := range v {
			v[j] *= 3
			list[i] = append(list[i], &v[j])
		}
		if failure == NotFinite {
			list[i][1] = nil
		}
	}
	if failure == FewerVectors {
		list = list[:len(list)-1]
	}
	return list
}

// encode answers in reverse order where the protocol numbers the vectors.
func encode(path string, vectors [][]*float32, failure Failure) ([]byte, bool) {
	type numbered struct {
		Index     int        `json:"index"`
		Embedding []*float32 `json:"embedding"`
	}
	var answer any
	switch path {
	case "/v1/embeddings":
		data := make([]numbered, 0, len(vectors))
		for i := len(vectors) - 1; i >= 0; i-- {
			data = append(data, numbered{i, vectors[i]})
			if failure == SameIndex {
				data[len(data)-1].Index = 0
			}
		}
		answer = map[string]any{"object": "list", "data": data}
	case "/api/embed":
		answer = map[string]any{"embeddings": vectors}
	default:
		return nil, false
	}
	body, err := json.Marshal(answer)
	return body, err == nil
}
