package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// serve is Streamable HTTP with sessions, which a restart forgets.
func (s *server) serve(address string) error {
	http.HandleFunc("/mcp", s.endpoint)
	return http.ListenAndServe(address, nil)
}

func (s *server) endpoint(w http.ResponseWriter, r *http.Request) {
	if a := r.Header.Get("Authorization"); a != "" {
		s.note("authorization %s", a)
	}
	if s.flaw == "html" {
		page(w)
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.post(w, r)
	case http.MethodGet:
		s.stream(w, r)
	case http.MethodDelete:
	}
}

func page(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, "<!doctype html><title>Welcome</title>")
}

// known reports whether a session is one of ours.
func (s *server) known(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

func (s *server) post(w http.ResponseWriter, r *http.Request) {
	var m message
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	session := r.Header.Get("Mcp-Session-Id")
	switch {
	case m.Method == "initialize":
		session = rand.Text()
		s.mu.Lock()
		s.sessions[session] = true
		s.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", session)
	case session != "" && !s.known(session):
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	if len(m.ID) == 0 {
		s.handle(m, func(string) {})
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Method == "tools/call" && misbehave(w, m) {
		return
	}
	s.begin(m)
	w.Header().Set("Content-Type", "text/event-stream")
	s.handle(m, func(line string) { event(w, line) })
}

// misbehave answers as only HTTP can.
func misbehave(w http.ResponseWriter, m message) bool {
	switch text := string(m.Params); {
	case strings.Contains(text, `"name":"html"`):
		page(w)
	case strings.Contains(text, `"name":"cut"`):
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":`)
		panic(http.ErrAbortHandler)
	default:
		return false
	}
	return true
}

func event(w http.ResponseWriter, line string) {
	fmt.Fprintf(w, "data: %s\n\n", line)
	_ = http.NewResponseController(w).Flush() // who has gone does not read it
}

// stream is what a client hears unasked.
func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	if !s.known(r.Header.Get("Mcp-Session-Id")) {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	unasked := s.listen()
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush() // as above
	for {
		select {
		case line := <-unasked:
			event(w, line)
		case <-r.Context().Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.listeners, unasked)
			return
		}
	}
}
