package upstream_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The test binary is also the servers it tests against: run with CHILD set, it
// speaks MCP on its standard streams, well or badly.
func TestMain(m *testing.M) {
	switch os.Getenv("CHILD") {
	case "":
		os.Exit(m.Run())
	case "sdk":
		sdkChild()
	default:
		newChild(os.Getenv("CHILD")).run()
	}
}

// sdkChild is a well-behaved server of both generations.
func sdkChild() {
	srv := newSDKServer(nil)
	if err := srv.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// child is a small hand-written server of the older generation, whose flaws are
// named in CHILD, separated by commas.
type child struct {
	flaws map[string]bool
	out   sync.Mutex
}

func newChild(flaws string) *child {
	c := &child{flaws: map[string]bool{}}
	for f := range strings.SplitSeq(flaws, ",") {
		c.flaws[f] = true
	}
	return c
}

// record notes an event in the file that the test reads.
func (c *child) record(format string, args ...any) {
	f, err := os.OpenFile(os.Getenv("CHILD_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, format+"\n", args...)
}

func (c *child) say(format string, args ...any) {
	c.out.Lock()
	defer c.out.Unlock()
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (c *child) run() {
	c.record("start %d", os.Getpid())
	if c.flaws["garbage"] {
		fmt.Println("Welcome to the server!")
		fmt.Println("{not json")
	}
	if c.flaws["flood"] {
		for range 20_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 20))
		}
	}
	if c.flaws["secret"] {
		fmt.Fprintln(os.Stderr, "cannot log in with", os.Getenv("API_KEY"))
		os.Exit(7)
	}
	if c.flaws["onlygarbage"] {
		for {
			fmt.Println(strings.Repeat("this is no server ", 1000))
		}
	}
	if c.flaws["ignoreterm"] {
		signal.Ignore(syscall.SIGTERM)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if c.flaws["ignoreeof"] {
				select {}
			}
			return
		}
		var r request
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		c.handle(r)
	}
}

func (c *child) handle(r request) {
	switch r.Method {
	case "server/discover":
		switch {
		case c.flaws["exitonprobe"]:
			os.Exit(1)
		case c.flaws["muteonprobe"]:
		default:
			c.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, r.ID)
		}
	case "initialize":
		if c.flaws["muteoninit"] {
			return
		}
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{}},"serverInfo":{"name":"child","version":"1.2.3"},"instructions":"be kind"}}`, r.ID)
	case "notifications/initialized":
		if c.flaws["latetools"] {
			c.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			c.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
	case "notifications/cancelled":
		c.record("cancelled")
	case "ping":
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, r.ID)
	case "tools/list":
		c.list(r)
	case "resources/list":
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{"resources":[{"uri":"x:1","name":"one"}]}}`, r.ID)
	case "prompts/list":
		c.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no prompts today"}}`, r.ID)
	case "tools/call":
		var p struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
			Meta      struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		}
		if json.Unmarshal(r.Params, &p) == nil {
			c.record("call %s %s", p.Name, p.Arguments)
			c.call(r.ID, p.Name, p.Arguments, p.Meta.Token)
		}
	}
}

// weirdTools holds what a typed client trips over.
const weirdTools = `[{"name":"big","inputSchema":{"type":"object","properties":{"n":{"maximum":1e400,"default":9007199254740993}}}},` +
	`{"name":"odd/näme","x-vendor":{"b":1,"a":2}},{"inputSchema":true},null,{"name":"dup"},{"name":"dup"}]`

func (c *child) list(r request) {
	switch {
	case c.flaws["endless"]:
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t"}],"nextCursor":"%d"}}`, r.ID, time.Now().UnixNano())
	case c.flaws["samecursor"]:
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t"}],"nextCursor":"again"}}`, r.ID)
	default:
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}`, r.ID, weirdTools)
	}
}

// weirdResult is what must arrive byte for byte.
const weirdResult = `{"content":[{"type":"video","z":1,"a":9007199254740993,"html":"<b>&\u2028</b>"}],"structuredContent":null,"n":1e400,"x":{"b":1.0,"a":1.10}}`

func (c *child) call(id json.RawMessage, tool string, args, token json.RawMessage) {
	text := func(s string) {
		quoted, _ := json.Marshal(s)
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, id, quoted)
	}
	switch tool {
	case "echo":
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":%s}}`, id, args)
	case "weird":
		c.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, weirdResult)
	case "env":
		text(strings.Join(os.Environ(), "\n"))
	case "pid":
		text(fmt.Sprint(os.Getpid()))
	case "die":
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
	case "hang":
		for c.flaws["mute"] {
			time.Sleep(time.Hour)
		}
	case "deaf": // never reads again
		text("deaf")
		select {}
	case "garbage":
		c.say("some log line")
		text("after garbage")
	case "huge":
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, id, strings.Repeat("x", 3<<20))
	case "hugelast":
		c.say(`{"result":{"content":[{"type":"text","text":"%s"}]},"jsonrpc":"2.0","id":%s}`, strings.Repeat("x", 3<<20), id)
	case "deep":
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{"x":%s%s}}`, id, strings.Repeat("[", 5000), strings.Repeat("]", 5000))
	case "code":
		c.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32003,"message":"quota is used up","data":{"n":1}}}`, id)
	case "unknown":
		c.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"Unknown tool: unknown"}}`, id)
	case "input":
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{}}}`, id)
	case "task":
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{"task":{"taskId":"1","status":"working"}}}`, id)
	case "elicit":
		c.say(`{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}`)
		c.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no answer"}}`, id)
	case "progress":
		for i := 1; i <= 20; i++ {
			c.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d.50,"total":20,"message":"step"}}`, token, i)
		}
		text("done")
	case "spawn":
		cmd := exec.Command("sleep", "1000")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // holds our pipes open
		if err := cmd.Start(); err != nil {
			text(err.Error())
			return
		}
		text(fmt.Sprint(cmd.Process.Pid))
	default:
		text(tool)
	}
}
