package script_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/toolscout/toolscout/hooks"
)

// TestOneScriptManyCalls: nothing of one call shows in another.
func TestOneScriptManyCalls(t *testing.T) {
	t.Parallel()
	const source = `
SEEN = {"nobody": [1, 2]}

def before_call(ctx, request):
    ctx.values["n"] = request.arguments["n"]
    cache.put("last", request.arguments["n"], ttl = 60)
    request.arguments["twice"] = request.arguments["n"] * 2
    request.arguments["seen"] = len(SEEN["nobody"])
    return request.arguments

def after_call(ctx, result):
    emit("seen", {"n": ctx.values["n"]})
    return re.sub(r"\d+", str(ctx.values["n"]), result.text)
`
	w := newWorld()
	h := w.source(t, source)
	r := hooks.NewRunner(hooks.Config{})
	const callers, calls = 50, 10
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for i := range calls {
				n := caller*calls + i
				c, tool := call(fmt.Sprintf(`{"n":%d}`, n)), &work{result: textResult(t, "number 0")}
				entries := []hooks.Entry{{Name: "test", OnError: hooks.Fail, Hook: h}}
				if err := r.Run(t.Context(), hooks.Compile(entries, c), c, tool.next); err != nil {
					t.Error(err)
				}
				if want := fmt.Sprintf(`{"n":%d,"twice":%d,"seen":2}`, n, 2*n); tool.args != want {
					t.Errorf("got %s, want %s", tool.args, want)
				}
				if want := textResult(t, fmt.Sprintf("number %d", n)); string(c.Result) != want {
					t.Errorf("got %s, want %s", c.Result, want)
				}
			}
		})
	}
	group.Wait()
	if err := r.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if len(w.events) != callers*calls {
		t.Errorf("got %d events, want %d", len(w.events), callers*calls)
	}
}

// TestModuleLevelIsFrozen: what module-level code left cannot carry anything over.
func TestModuleLevelIsFrozen(t *testing.T) {
	t.Parallel()
	h := newWorld().source(t, "SEEN = []\n"+before(`SEEN.append(1)`))
	if err := through(t, h, call(`{}`), &work{result: hello}); err == nil {
		t.Error("a list of the module was changed")
	}
}
