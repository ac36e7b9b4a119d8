package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"
)

// descriptions of the tools there are.
var descriptions = map[string]string{
	"echo":    "Answers with the arguments it was given",
	"pid":     "Answers with the number of its process",
	"hold":    "Answers once the given file exists",
	"stall":   "Never answers",
	"die":     "Ends the server in the middle of the call",
	"huge":    "Answers with so many bytes",
	"flood":   "Sends so many notifications before it answers",
	"noise":   "Writes so many lines of noise to its error output before it answers",
	"spawn":   "Starts a process of its own and answers with its number",
	"garbage": "Prints lines that are no messages before it answers",
	"wrongid": "Answers requests that nobody made, and never this one",
	"html":    "Answers with a web page",
	"cut":     "Breaks off in the middle of its answer",
	"changed": "Says that its list of tools has changed",
	"say":     "Answers with the result that it is given",
}

// tool is an entry of tools/list.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

var anyObject = json.RawMessage(`{"type":"object"}`)

// tools is all that is offered at this moment.
func (s *server) tools() []tool {
	var all []tool
	for _, name := range s.names {
		all = append(all, tool{name, descriptions[name], anyObject})
	}
	for i := range s.many {
		all = append(all, tool{fmt.Sprintf("item_%05d", i), fmt.Sprintf("Reports the state of item %d in warehouse %d", i, i%17), anyObject})
	}
	if s.file == "" {
		return all
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, description, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, tool{name, description, anyObject})
	}
	return all
}

// list answers tools/list, in one page or in ever so many.
func (s *server) list(m message, reply func(string)) {
	if s.flaw == "endless" {
		n := time.Now().UnixNano()
		reply(fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, n, n))
		return
	}
	raw, err := json.Marshal(map[string]any{"tools": s.tools()})
	if err != nil {
		log.Fatal(err)
	}
	reply(string(raw))
}

// call carries out one tool.
func (s *server) call(m message, say, reply func(string)) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		log.Fatal(err)
	}
	var args struct {
		N      int             `json:"n"`
		File   string          `json:"file"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(p.Arguments, &args); err != nil {
		log.Fatal(err)
	}
	text := func(text string) {
		quoted, _ := json.Marshal(text) // a string always can be
		reply(fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, quoted))
	}
	s.note("call %s %s", p.Name, p.Arguments)
	switch p.Name {
	case "pid":
		text(fmt.Sprint(os.Getpid()))
	case "hold":
		s.hold(m, args.File)
		text("released")
	case "stall", "wrongid":
		if p.Name == "wrongid" {
			say(`{"jsonrpc":"2.0","id":99999,"result":{"content":[{"type":"text","text":"not yours"}]}}`)
			say(`{"jsonrpc":"2.0","id":"1","result":{}}`)
		}
		s.hold(m, "")
	case "die":
		os.Exit(3)
	case "huge":
		text(strings.Repeat("x", args.N))
	case "flood":
		for i := range args.N {
			say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"noise"}}`)
			if len(p.Meta.Token) > 0 {
				say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, p.Meta.Token, i))
			}
		}
		text("flooded")
	case "noise":
		for range args.N {
			fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 20))
		}
		text("made noise")
	case "spawn":
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			log.Fatal(err)
		}
		text(fmt.Sprint(cmd.Process.Pid))
	case "say":
		reply(string(args.Result))
	case "garbage":
		say("Loading model… done")
		say(`{"half":`)
		text("after the garbage")
	case "changed":
		s.tell(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		text("told")
	default:
		reply(fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"structuredContent":%s}`, p.Name, p.Arguments))
	}
}

// hold waits until a file exists, or until the request is cancelled.
func (s *server) hold(m message, file string) {
	s.mu.Lock()
	cancelled := s.cancelled[string(m.ID)]
	s.mu.Unlock()
	for {
		if _, err := os.Stat(file); err == nil {
			return
		}
		select {
		case <-cancelled:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}
