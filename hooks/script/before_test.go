package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/script"
)

func before(body string) string {
	return "def before_call(ctx, request):\n    " + strings.ReplaceAll(body, "\n", "\n    ")
}

func TestArguments(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ args, body, want string }{
		"nothing returned":         {`{"a": 1}`, `pass`, `{"a": 1}`},
		"returned unchanged":       {`{ "a": 1.0, "b":[ ] , "a2":"\u00e9"}`, `return request.arguments`, `{ "a": 1.0, "b":[ ] , "a2":"\u00e9"}`},
		"looked at":                {`{"a": 1}`, `x = request.arguments["a"]`, `{"a": 1}`},
		"one member changed":       {`{"big":12345678901234567890123, "f":1.50, "e":1E5, "s":"\u00e9", "c":1}`, "request.arguments[\"c\"] = 2\nreturn request.arguments", `{"big":12345678901234567890123,"f":1.50,"e":1E5,"s":"\u00e9","c":2}`},
		"an inner member":          {`{"a":{"x": [1.0, {"y":2.0}], "z":3.0}}`, "request.arguments[\"a\"][\"x\"][1][\"y\"] = 5\nreturn request.arguments", `{"a":{"x":[1.0,{"y":5}],"z":3.0}}`},
		"untouched parts as texts": {`{"a":{"x": 1.0},"b":0}`, "request.arguments[\"b\"] = 1\nreturn request.arguments", `{"a":{"x": 1.0},"b":1}`},
		"moved parts as texts":     {`{"a":{"x": 1.0}}`, `return {"b": request.arguments["a"]}`, `{"b":{"x": 1.0}}`},
		"removed":                  {`{"a":1.0,"b":2.0}`, "request.arguments.pop(\"a\")\nreturn request.arguments", `{"b":2.0}`},
		"order":                    {`{"a":1,"b":2}`, `return {"b": 2, "a": 1}`, `{"b":2,"a":1}`},
		"reordered":                {`{"a":1,"b":2}`, "request.arguments[\"a\"] = request.arguments.pop(\"a\")\nreturn request.arguments", `{"b":2,"a":1}`},
		"list grown and shrunk":    {`{"a":[1.0,2.0,3.0],"b":[1.0]}`, "a = request.arguments\na[\"a\"].pop()\na[\"b\"] += [2]\nreturn a", `{"a":[1.0,2.0],"b":[1.0,2]}`},
		"list shifted":             {`{"a":[1.10,2.20]}`, "request.arguments[\"a\"].pop(0)\nreturn request.arguments", `{"a":[2.2]}`},
		"no arguments":             {``, `return {"a": None, "b": True, "c": (1, 2), "d": set([1]), "e": "\"<&>\n\x01é\u2028"}`, `{"a":null,"b":true,"c":[1,2],"d":[1],"e":"\"<&>\n\u0001é` + "\u2028" + `"}`},
		"null arguments":           {`null`, "request.arguments[\"a\"] = 1\nreturn request.arguments", `{"a":1}`},
		"equal names":              {`{"a":1,"b":0,"a":2}`, `return request.arguments`, `{"a":1,"b":0,"a":2}`},
		"equal names, changed":     {`{"a":1,"b":0,"a":2}`, "request.arguments[\"b\"] = 1\nreturn request.arguments", `{"a":2,"b":1}`},
		"too large for a float":    {`{"a":1e999,"b":1}`, "request.arguments[\"b\"] = 2\nreturn request.arguments", `{"a":1e999,"b":2}`},
		"same value of other type": {`{"a":1.0}`, "request.arguments[\"a\"] = 1\nreturn request.arguments", `{"a":1}`},
		"augmented":                {`{"n":1,"l":[1],"s":"a","d":{"x":1},"m":7}`, "a = request.arguments\na[\"n\"] += 1\na[\"l\"] += [2]\na[\"l\"][-1] *= 3\na[\"s\"] += \"b\"\na[\"d\"] |= {\"y\": 2}\na[\"m\"] //= 2\na[\"m\"] <<= 1\nreturn a", `{"n":2,"l":[1,6],"s":"ab","d":{"x":1,"y":2},"m":6}`},
		"alias of a list":          {`{}`, "a = [1]\nb = a\nb += [2]\nc = a + [3]\nreturn {\"a\": a, \"c\": c}", `{"a":[1,2],"c":[1,2,3]}`},
		"order of evaluation":      {`{}`, "seen = []\ndef f(x):\n    seen.append(x)\n    return x\nd = {f(\"k\"): 0}\nd[f(\"k\")] += f(1)\nx = f(2) + f(3) * f(4)\nreturn {\"seen\": seen, \"d\": d}", `{"seen":["k","k",1,2,3,4],"d":{"k":1}}`},
		"comprehensions":           {`{}`, `return {"a": [x * 2 for x in range(3) if x != 1], "b": {str(k): v for k, v in [(1, 2)]}}`, `{"a":[0,4],"b":{"1":2}}`},
		"calls":                    {`{}`, "def f(a, b = 1 + 1, *c, **d): return [a, b, list(c), d]\nreturn {\"x\": f(1), \"y\": f(*[1, 2, 3], **{\"k\": 4})}", `{"x":[1,2,[],{}],"y":[1,2,[3],{"k":4}]}`},
		"methods held":             {`{}`, "f = \"-\".join\ng = getattr([1, 2], \"index\")\nreturn {\"a\": f([\"x\", \"y\"]), \"b\": g(2), \"c\": hasattr(\"\", \"join\"), \"d\": getattr(1, \"x\", 9)}", `{"a":"x-y","b":1,"c":true,"d":9}`},
		"slices":                   {`{}`, "s = \"abcdef\"\nl = [1, 2, 3, 4]\nreturn {\"a\": s[1:3], \"b\": s[::-2], \"c\": l[-2:], \"d\": l[::-1], \"e\": range(10)[2:4][1]}", `{"a":"bc","b":"fdb","c":[3,4],"d":[4,3,2,1],"e":3}`},
		"operators":                {`{}`, `return {"a": ["a%sb%d" % ("x", 3), "%r" % "q", 7 % 4, 2 - 3, "a" < "b", 1 == 1.0, "b" in "abc", 4 not in [1], "k" in {"k": 1}, 6 & 3, 6 | 1, 6 ^ 2, 1 << 4, {"a": 1} | {"b": 2}, "{} {x}".format(1, x = 2), -3, not 0, 5 / 2, 1 if [] else 2, 3 in range(4)]}`, `{"a":["axb3","\"q\"",3,-1,true,true,true,true,true,2,7,4,16,{"a":1,"b":2},"1 2",-3,true,2.5,2,true]}`},
		"sorting":                  {`{}`, `return {"a": sorted([3, 1, 2], reverse = True), "b": sorted(["bb", "a"], key = len), "c": max([1, 5, 3], key = lambda x: -x), "d": min("b", "a"), "e": sorted(["bb", "a"], len)}`, `{"a":[3,2,1],"b":["a","bb"],"c":1,"d":"a","e":["a","bb"]}`},
		"regular expressions": {`{}`, "m = re.search(r\"(?P<y>\\d{4})-(\\d\\d)\", \"on 2026-11-18\")\nreturn {\"a\": [m.group(), m.group(\"y\"), m.group(2), list(m.groups), m.start, m.end], \"b\": re.match(r\"\\d\", \"a1\"), \"c\": re.findall(r\"\\w\", \"a b\"), \"d\": re.findall(r\"(\\w)=(\\w)\", \"a=b c=d\"), \"e\": re.sub(r\"(\\w)=(?P<v>\\w)\", r\"\\g<v>\\\\=\\1\", \"a=b\"), \"f\": re.sub(\"a\", lambda m: m.group().upper(), \"banana\", count = 2), \"g\": re.split(\",\\\\s*\", \"a, b,c\"), \"h\": re.split(\",\", \"a,b,c\", maxsplit = 1), \"i\": re.escape(\"a.b\"), \"j\": re.findall(\"(b)?a\", \"a\"), \"k\": re.sub(\"x*\", \"-\", \"ab\")}",
			`{"a":["2026-11","2026","11",["2026","11"],3,10],"b":null,"c":["a","b"],"d":[["a","b"],["c","d"]],"e":"b\\=a","f":"bAnAna","g":["a","b","c"],"h":["a","b,c"],"i":"a\\.b","j":[null],"k":"-a-b-"}`},
		"time and math": {`{}`, `return {"a": time.now().format("2006-01-02 15:04 MST"), "b": time.now().in_location("Asia/Tokyo").hour, "c": (time.parse_time("2026-11-18T13:00:00Z") - time.now()) == time.hour, "d": math.floor(2.7), "e": math.pow(2, 3)}`, `{"a":"2026-11-18 12:00 UTC","b":21,"c":true,"d":2,"e":8.0}`},
		"json":          {`{}`, `return {"a": json.decode("[1.50, 123456789012345678901]"), "b": json.decode("nope", "default"), "c": json.encode({"x": [1, None]})}`, `{"a":[1.50, 123456789012345678901],"b":"default","c":"{\"x\":[1,null]}"}`},
		"context":       {`{}`, `return {"a": [ctx.tool, ctx.description, ctx.annotations, ctx.server, ctx.user, list(ctx.roles), ctx.agent, ctx.request_id, ctx.level, ctx.action, ctx.observing, ctx.duration_ms, ctx.error, ctx.is_error]}`, `{"a":["github_search","Searches.",{"readOnlyHint":true},"github","ann",["dev"],"ide","r1","tool","execute_tool",false,null,null,null]}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := &work{result: hello}
			if err := through(t, newWorld().source(t, before(tc.body)), call(tc.args), tool); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tool.args, tc.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOriginalArguments(t *testing.T) {
	t.Parallel()
	c := call(`{"a":1}`)
	c.Args = []byte(`{"a":2}`)
	tool := &work{result: hello}
	h := newWorld().source(t, before(`return {"now": request.arguments["a"], "then": request.original["a"]}`))
	if err := through(t, h, c, tool); err != nil || tool.args != `{"now":2,"then":1}` {
		t.Errorf("got %s, %v", tool.args, err)
	}
}

// TestStrict holds what a script must not do, and the words in which it is told.
func TestStrict(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ body, want string }{
		"changed, not returned":   {`request.arguments["b"] = 1`, "test.star:1:1: before_call changed request.arguments, but returned None: end it with `return request.arguments`"},
		"returned something else": {`return "x"`, "test.star:1:1: before_call returned a string: it returns request.arguments, another dict, or None, and ends with reject() or answer()"},
		"original changed":        {`request.original["b"] = 1`, "test.star:2:21: cannot insert into a read-only dict"},
		"annotations changed":     {`ctx.annotations["b"] = 1`, "test.star:2:20: cannot insert into a read-only dict"},
		"config changed":          {`config["b"] = 1`, "test.star:2:11: cannot insert into a read-only dict"},
		"unknown attribute":       {`x = request.args`, "test.star:2:16: request has no .args, only .arguments, .original"},
		"unknown method":          {`"x".foo()`, "test.star:2:12: string has no .foo"},
		"attribute set":           {`request.arguments = {}`, "test.star:2:12: can't assign to .arguments field of request"},
		"no such key":             {`x = request.arguments["zz"]`, `test.star:2:26: key "zz" not in dict`},
		"odd keys":                {`return {1: 2}`, "test.star:1:1: what before_call returned has a key of type int: JSON objects need strings"},
		"odd values":              {`return {"a": len}`, "test.star:1:1: what before_call returned holds a value of type builtin_function_or_method, which JSON cannot say"},
		"infinity":                {`return {"a": float("inf")}`, "test.star:1:1: what before_call returned holds +inf, which JSON cannot say"},
		"no reason":               {`reject("")`, "test.star:2:11: reject: say why"},
		"answer of a number":      {`answer(1)`, `test.star:1:1: answer() is a int: it must be a text, a result, or a dict like {"content": [{"type": "text", "text": "…"}]}`},
		"answer of any dict":      {`answer({"a": 1})`, `test.star:1:1: answer() is no result: it needs "content", a list (for JSON, use result.with_json or json.encode)`},
		"event of ours":           {`emit("tool:after", {})`, `test.star:2:9: emit: events of type "tool:after" are published by Toolscout alone, as are all whose type begins with tool:`},
		"event without a dict":    {`emit("x", 1)`, "test.star:2:9: emit: the data is a int, want a dict"},
		"cached for nothing":      {`cache.put("k", 1, ttl = 0)`, "test.star:2:14: cache.put: ttl: want more than 0 and at most 24h0m0s"},
		"note of a list":          {`ctx.note("k", [])`, "test.star:2:13: note: a value of type list, want a text, a number or a truth value"},
		"broken pattern":          {`re.search("(", "")`, "test.star:2:14: the pattern \"(\": missing closing ): `(`"},
		"unknown group":           {`re.sub("a", r"\1", "a")`, `test.star:2:11: the pattern has no group "1"`},
		"no JSON":                 {`json.decode("{")`, "test.star:2:16: json.decode: the text cannot be read as JSON: unexpected end of JSON input"},
		"fail":                    {`fail("because", 1)`, "test.star:2:9: fail: because 1"},
		"index out of range":      {`x = [1]` + "\n" + `x[1] += 1`, "test.star:3:10: list index 1 out of range: the list has 1 elements"},
		"in a function":           {"def f(x):\n    return x + 1\nf(\"a\")", "test.star:3:18: unknown binary op: string + int"},
		"division":                {"x = 1 // 0", "test.star:2:11: floored division by zero"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := &work{result: hello}
			err := through(t, newWorld().source(t, before(tc.body)), call(`{"a":1}`), tool)
			if got := told(err); got != tc.want || tool.called != 0 {
				t.Errorf("got  %s\nwant %s\nthe tool was called %d times", got, tc.want, tool.called)
			}
		})
	}
}

// TestErrorsQuoteNothingToStrangers: what a script says may hold what it was there
// to hide.
func TestErrorsQuoteNothingToStrangers(t *testing.T) {
	t.Parallel()
	h := newWorld().source(t, before(`fail(request.arguments["secret"])`))
	err := through(t, h, call(`{"secret":"hunter2"}`), &work{result: hello})
	if got := core.Public(err).Message; got != "test.star:2:9: the script failed" {
		t.Errorf("got %s", got)
	}
	if !strings.Contains(fmt.Sprint(err), "hunter2") {
		t.Errorf("the log says only %v", err)
	}
}

func TestReject(t *testing.T) {
	t.Parallel()
	tool := &work{result: hello}
	// Without return, and from a function: it ends the call nevertheless.
	h := newWorld().source(t, "def check(x):\n    if x: reject(\"no \" + x, hint = \"try y\")\n\ndef before_call(ctx, request):\n    ctx.warn(\"look\")\n    check(request.arguments[\"a\"])\n    return {}")
	err := through(t, h, call(`{"a":"x"}`), tool)
	e := core.Public(err)
	if !errors.Is(err, core.HookRejected) || e.Message != "no x" || e.Hint != "try y" || tool.called != 0 {
		t.Errorf("got %+v, %d calls", e, tool.called)
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ body, want string }{
		"text":   {`answer("hi \"you\"")`, `{"content":[{"type":"text","text":"hi \"you\""}]}`},
		"result": {`answer({"content": [{"type": "text", "text": "x"}], "isError": True})`, `{"content":[{"type":"text","text":"x"}],"isError":true}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, tool := call(`{}`), &work{result: hello}
			if err := through(t, newWorld().source(t, before(tc.body)), c, tool); err != nil {
				t.Fatal(err)
			}
			if string(c.Result) != tc.want || tool.called != 0 {
				t.Errorf("got %s, want %s, %d calls", c.Result, tc.want, tool.called)
			}
		})
	}
}

func TestEmit(t *testing.T) {
	t.Parallel()
	const source = `
def before_call(ctx, request):
    emit("used", {"n": 1.50})
    emit("used.again")
    if request.arguments.get("fail"): fail("no")
    if request.arguments.get("reject"): reject("no")
`
	cases := map[string]struct {
		args string
		mode hooks.Mode
		want int
	}{
		"published":             {`{}`, hooks.Enforce, 2},
		"not of a failure":      {`{"fail":true}`, hooks.Enforce, 0},
		"of a rejection":        {`{"reject":true}`, hooks.Enforce, 2},
		"not where it observes": {`{}`, hooks.Observe, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			c := call(tc.args)
			r := hooks.NewRunner(hooks.Config{})
			entries := []hooks.Entry{{Name: "test", OnError: hooks.Ignore, Mode: tc.mode, Hook: w.source(t, source)}}
			_ = r.Run(t.Context(), hooks.Compile(entries, c), c, (&work{result: hello}).next)
			if err := r.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(w.events) != tc.want {
				t.Fatalf("got %d events, want %d", len(w.events), tc.want)
			}
			if tc.want == 0 {
				return
			}
			want := core.Event{Time: w.now, Type: "used", Subject: "github_search", TenantID: "tenant", UserID: "u1", ServerID: "s1", Data: []byte(`{"n":1.5}`)}
			if diff := cmp.Diff(w.events[0], want); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.Effects[0].Notes, map[string]any{"events": 2}); tc.args == `{}` && diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCacheIsEachUsersOwn(t *testing.T) {
	t.Parallel()
	const source = `
def before_call(ctx, request):
    shared = request.arguments.get("shared", False)
    found = cache.get("k", "nothing", shared = shared)
    cache.put("k", ctx.user, ttl = time.minute, shared = shared)
    return {"found": found}
`
	w := newWorld()
	h := w.source(t, source)
	steps := []struct {
		user, args string
		wait       time.Duration
		want       string
	}{
		{"ann", `{}`, 0, "nothing"}, {"ann", `{}`, 0, "ann"}, {"bob", `{}`, 0, "nothing"},
		{"ann", `{"shared":true}`, 0, "nothing"}, {"bob", `{"shared":true}`, 0, "ann"},
		{"ann", `{}`, 59 * time.Second, "ann"}, {"ann", `{}`, time.Minute, "nothing"},
	}
	for i, s := range steps {
		w.pass(s.wait)
		c, tool := call(s.args), &work{result: hello}
		c.Principal.UserID, c.Principal.UserName = s.user, s.user
		if err := through(t, h, c, tool); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`{"found":%q}`, s.want); tool.args != want {
			t.Errorf("step %d: got %s, want %s", i, tool.args, want)
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	config := script.Config{Now: func() time.Time { cancel(); runtime.Gosched(); return time.Time{} }}
	source := before("while True: time.now()")
	text, err := json.Marshal(map[string]any{"max_steps": 5000000, "source": source})
	if err != nil {
		t.Fatal(err)
	}
	h, err := script.Type(config).New(hooks.Instance{Name: "test", Config: text})
	if err != nil {
		t.Fatal(err)
	}
	err = h.Before(ctx, call(`{}`))
	if !errors.Is(err, core.Timeout) || !regexp.MustCompile(`^test\.star:2:\d+: took longer than its timeout$`).MatchString(core.Public(err).Message) {
		t.Errorf("got %v, want a timeout with its place", err)
	}
}
