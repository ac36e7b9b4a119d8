// Testserver is an MCP server of the generation with sessions, written by hand so
// that it can break the protocol. It behaves and misbehaves as its flags and the
// names of its tools say; see tools.go.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
)

// server is what the flags made of it.
type server struct {
	names  []string // tools it offers, of those in tools.go
	many   int      // further tools that do nothing
	file   string   // of further tools, read at each listing: "name description" a line
	record string   // file that gets a line for each start and each call
	flaw   string

	mu        sync.Mutex
	listeners map[chan string]bool // hear what goes to the client unasked
	cancelled map[string]chan struct{}
	sessions  map[string]bool
}

// message is a JSON-RPC request or notification.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func main() {
	s := &server{listeners: map[chan string]bool{}, cancelled: map[string]chan struct{}{}, sessions: map[string]bool{}}
	address := flag.String("http", "", "serve Streamable HTTP at /mcp on this address instead of stdio")
	names := flag.String("tools", "echo", "tools to offer, separated by commas")
	flag.IntVar(&s.many, "many", 0, "offer so many tools that do nothing")
	flag.StringVar(&s.file, "file", "", "offer the tools in this file too, one a line")
	flag.StringVar(&s.record, "record", "", "append a line for each start and call to this file")
	flag.StringVar(&s.flaw, "flaw", "", "exit, garbage, endless, html or stays (when its input ends)")
	flag.Parse()
	s.names = strings.Split(*names, ",")
	s.note("start %d", os.Getpid())
	switch {
	case s.flaw == "exit":
		fmt.Fprintln(os.Stderr, "cannot read the license")
		os.Exit(7)
	case s.flaw == "garbage":
		for {
			fmt.Println(strings.Repeat("this is no server ", 1000))
		}
	case *address != "":
		log.Fatal(s.serve(*address))
	default:
		s.stdio()
	}
}

// note leaves a line in the record.
func (s *server) note(format string, args ...any) {
	if s.record == "" {
		return
	}
	f, err := os.OpenFile(s.record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, format+"\n", args...)
}

// stdio serves one client on the standard streams.
func (s *server) stdio() {
	var out sync.Mutex
	say := func(line string) {
		out.Lock()
		defer out.Unlock()
		fmt.Println(line)
	}
	unasked := s.listen()
	go func() {
		for line := range unasked {
			say(line)
		}
	}()
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && s.flaw == "stays" {
			select {}
		}
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) == nil {
			s.begin(m)
			go s.handle(m, say)
		}
	}
}

// listen registers for what goes to the client unasked.
func (s *server) listen() chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan string, 64)
	s.listeners[c] = true
	return c
}

func (s *server) tell(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.listeners {
		select {
		case c <- line:
		default:
		}
	}
}

// begin makes a request cancellable before anything that follows it is read.
func (s *server) begin(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(m.ID) > 0 {
		s.cancelled[string(m.ID)] = make(chan struct{})
	}
}

// handle answers one message by say, which takes a line.
func (s *server) handle(m message, say func(string)) {
	reply := func(result string) { say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)) }
	switch m.Method {
	case "initialize":
		reply(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"testserver","version":"1.0.0"}}`)
	case "ping":
		reply(`{}`)
	case "tools/list":
		s.list(m, reply)
	case "tools/call":
		s.call(m, say, reply)
	case "notifications/cancelled":
		s.cancel(m)
	default:
		if len(m.ID) > 0 {
			say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID))
		}
	}
}

func (s *server) cancel(m message) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.cancelled[string(p.RequestID)]; c != nil {
		close(c)
		delete(s.cancelled, string(p.RequestID))
		s.note("cancelled")
	}
}
