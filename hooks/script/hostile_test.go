package script_test

import (
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// heapBound is how much more memory than before the process may hold while a hostile
// script runs with the default limits: what its account allows, what its steps leave
// behind, and as much again for the collector.
const heapBound = 128 << 20

// attack is a script, or the body of a function, and what it must end with.
type attack struct{ body, want string }

// hostile are bodies of before_call that try to eat memory or time.
var hostile = map[string]attack{
	"repeat a text":             {`x = "x" * 1000000000`, "max_memory"},
	"repeat by a text":          {`x = 1000000000 * "x"`, "max_memory"},
	"repeat a list":             {`x = [0] * 500000000`, "max_memory"},
	"repeat a tuple":            {`x = (0, 1) * 300000000`, "max_memory"},
	"repeat in place":           {"x = [0]\n    x *= 500000000", "max_memory"},
	"repeat in place, indexed":  {"x = [[0]]\n    x[0] *= 500000000", "max_memory"},
	"repeat with huge count":    {`x = "x" * (1 << 200)`, "max_memory"},
	"double a text":             {"s = \"x\"\n    for _ in range(100): s += s", "max_memory"},
	"double a text, plainly":    {"s = \"x\"\n    for _ in range(100): s = s + s", "max_memory"},
	"double in a dict":          {"d = {0: \"x\"}\n    for _ in range(100): d[0] += d[0]", "max_memory"},
	"double a list":             {"l = [0]\n    for _ in range(100): l += l", "max_memory"},
	"double a list by extend":   {"l = [0]\n    for _ in range(100): l.extend(l)", "max_memory"},
	"extend held as a value":    {"l = [0]\n    f = l.extend\n    for _ in range(100): f(l)", "max_memory"},
	"extend by getattr":         {"l = [0]\n    f = getattr(l, \"extend\")\n    for _ in range(100): f(l)", "max_memory"},
	"double a tuple":            {"t = (0,)\n    for _ in range(100): t = t + t", "max_memory"},
	"keep many slices":          {"l = list(range(100000))\n    x = [l[:] for _ in range(100000)]", "max_memory"},
	"keep many strides":         {"s = \"x\" * 1000000\n    x = [s[::-1] for _ in range(100000)]", "max_memory"},
	"join":                      {"x = (\"x\" * 100000).join([\"\"] * 100000)", "max_memory"},
	"join long texts":           {"s = \"x\" * 1000000\n    x = \"\".join([s] * 100)", "max_memory"},
	"replace":                   {"x = (\"x\" * 100000).replace(\"x\", \"y\" * 100000)", "max_memory"},
	"replace nothing":           {"x = (\"x\" * 100000).replace(\"\", \"y\" * 100000)", "max_memory"},
	"format":                    {"x = (\"{0}\" * 100000).format(\"x\" * 100000)", "max_memory"},
	"format by name":            {"x = (\"{a}\" * 100000).format(a = \"x\" * 100000)", "max_memory"},
	"interpolate a mapping":     {"x = (\"%(a)s\" * 100000) % {\"a\": \"x\" * 100000}", "max_memory"},
	"interpolate a list":        {"x = \"%s\" % ([[0] * 1000] * 10000)", "max_"},
	"split":                     {"x = (\" \" * 10000000).split(\" \")", "max_memory"},
	"split by nothing":          {"x = (\"a \" * 5000000).split()", "max_memory"},
	"lines":                     {"x = (\"\\n\" * 10000000).splitlines()", "max_memory"},
	"upper":                     {"s = \"x\" * 1000000\n    x = [s.upper() for _ in range(10000)]", "max_memory"},
	"list of a range":           {"x = list(range(1000000000))", "max_memory"},
	"tuple of a range":          {"x = tuple(range(1000000000))", "max_memory"},
	"set of a range":            {"x = set(range(1000000000))", "max_"},
	"dict of pairs":             {"x = dict([(i, i) for i in range(100)] * 100000)", "max_"},
	"sorted range":              {"x = sorted(range(1000000000))", "max_"},
	"reversed range":            {"x = reversed(range(1000000000))", "max_memory"},
	"enumerate a range":         {"x = enumerate(range(1000000000))", "max_memory"},
	"zip ranges":                {"x = zip(range(1000000000), range(1000000000))", "max_memory"},
	"zip many":                  {"x = zip(*([range(10000)] * 10000))", "max_memory"},
	"spread a range":            {"x = max(*range(1000000000))", "max_memory"},
	"spread into a function":    {"f = lambda *a: len(a)\n    x = f(*range(1000000000))", "max_memory"},
	"extend by a range":         {"x = []\n    x.extend(range(1000000000))", "max_memory"},
	"add a range":               {"x = []\n    x += range(1000000000)", "max_memory"},
	"bytes of a range":          {"x = bytes([0] * 1000000)\n    y = [bytes([0] * 1000000) for _ in range(1000)]", "max_"},
	"text of shared lists":      {"x = [0]\n    for _ in range(40): x = [x, x]\n    y = str(x)", "max_"},
	"repr of shared lists":      {"x = [0]\n    for _ in range(40): x = [x, x]\n    y = repr(x)", "max_"},
	"print shared lists":        {"x = [0]\n    for _ in range(40): x = [x, x]\n    print(x)", "max_"},
	"fail with shared lists":    {"x = [0]\n    for _ in range(40): x = [x, x]\n    fail(x)", "max_"},
	"encode shared lists":       {"x = [0]\n    for _ in range(40): x = [x, x]\n    y = json.encode(x)", "max_"},
	"return shared lists":       {"x = [0]\n    for _ in range(40): x = [x, x]\n    return {\"x\": x}", "max_"},
	"compare shared lists":      {"x, y = [0] * 1000, [0] * 1000\n    for _ in range(6): x, y = [x] * 1000, [y] * 1000\n    z = x == y", "max_"},
	"look for shared lists":     {"x, y = [0] * 1000, [0] * 1000\n    for _ in range(6): x, y = [x] * 1000, [y] * 1000\n    z = x in [y]", "max_"},
	"index of shared lists":     {"x, y = [0] * 1000, [0] * 1000\n    for _ in range(6): x, y = [x] * 1000, [y] * 1000\n    z = [y].index(x)", "max_"},
	"sort shared lists":         {"x, y = [0] * 1000, [0] * 1000\n    for _ in range(6): x, y = [x] * 1000, [y] * 1000\n    z = sorted([x, y])", "max_"},
	"sort by shared lists":      {"x = [0] * 1000\n    for _ in range(6): x = [x] * 1000\n    z = sorted([2, 1], key = lambda _: x)", "max_"},
	"maximum by shared lists":   {"x = [0] * 1000\n    for _ in range(6): x = [x] * 1000\n    z = max([2, 1], key = lambda _: x)", "max_"},
	"hash shared tuples":        {"t = (0,)\n    for _ in range(60): t = (t, t)\n    d = {t: 0}", "max_steps"},
	"look up shared tuples":     {"t = (0,)\n    for _ in range(60): t = (t, t)\n    d = {}[t]", "max_steps"},
	"store under shared tuples": {"t = (0,)\n    for _ in range(60): t = (t, t)\n    d = {}\n    d[t] = 1", "max_steps"},
	"set of shared tuples":      {"t = (0,)\n    for _ in range(60): t = (t, t)\n    d = set([t])", "max_steps"},
	"keep shared tuples":        {"t = (0,)\n    for _ in range(60): t = (t, t)\n    ctx.values[\"t\"] = t", "max_steps"},
	"nest deep":                 {"x = []\n    for _ in range(10000): x = [x]\n    y = str(x)", "nested more than"},
	"encode deep":               {"x = []\n    for _ in range(10000): x = [x]\n    y = json.encode(x)", "nested more than"},
	"contain itself":            {"x = []\n    x.append(x)\n    y = json.encode(x)", "nested more than"},
	"decode deep":               {"x = json.decode(\"[\" * 100000)", "deeper than"},
	"decode many dicts":         {"x = json.decode(\"[\" + \"{},\" * 300000 + \"{}]\")", "max_memory"},
	"decode a long text":        {"x = json.decode(\"[\" * 2000000)", "max_size"},
	"decode a long number":      {"x = json.decode(\"1\" * 100000)", "integer of more than"},
	"square integers":           {"x = 3\n    for _ in range(100): x = x * x", "integer of more than"},
	"square in place":           {"x = 3\n    for _ in range(100): x *= x", "integer of more than"},
	"shift integers":            {"x = 1\n    for _ in range(100000): x = x << 500", "integer of more than"},
	"read long integers":        {"x = int(\"9\" * 1000000)", "integer of more than"},
	"read long integers, named": {"x = int(x = \"9\" * 1000000)", "integer of more than"},
	"ints of one hash":          {"x = set([i << 32 for i in range(20000)])", "max_steps"},
	"ints of one bucket":        {"x = set([i << 20 for i in range(20000)])", "max_steps"},
	"pairs of one hash":         {"x = dict([(i << 32, 0) for i in range(20000)])", "max_steps"},
	"lists of one hash":         {"x = dict([[i << 32, 0] for i in range(20000)])", "max_steps"},
	"update by one hash":        {"x = {}\n    x.update([(i << 32, 0) for i in range(20000)])", "max_steps"},
	"tuples of one hash":        {"x = set([(i << 32,) for i in range(20000)])", "max_steps"},
	"empty dicts":               {"x = [{} for _ in range(1000000)]", "max_"},
	"dicts in lists":            {"x = []\n    for _ in range(1000000): x.append([{}, {}, {}, {}, {}, {}, {}, {}])", "max_"},
	"dict items":                {"d = {i: i for i in range(10000)}\n    x = [d.items() for _ in range(10000)]", "max_memory"},
	"dict unions":               {"d = {i: i for i in range(10000)}\n    x = [d | d for _ in range(10000)]", "max_memory"},
	"set unions":                {"d = set(range(10000))\n    x = [d | d for _ in range(10000)]", "max_memory"},
	"set difference":            {"d = set(range(10000))\n    x = [d - set() for _ in range(10000)]", "max_memory"},
	"functions":                 {"x = []\n    for _ in range(1000000): x.append(lambda: x)", "max_steps"},
	"loop":                      {"while True: pass", "max_steps"},
	"loop over a range":         {"for _ in range(1000000000000): pass", "max_steps"},
	"empty matches":             {"x = re.findall(\"\", \"x\" * 1000000)", "max_"},
	"many groups":               {"x = re.findall(\"()\" * 400, \"x\" * 1000000)", "max_"},
	"substitute":                {"x = re.sub(\"x\", \"y\" * 100000, \"x\" * 100000)", "max_memory"},
	"substitute groups":         {"x = re.sub(\"(.*)\", \"\\\\1\" * 10000, \"x\" * 100000)", "max_memory"},
	"substitute by a function":  {"s = \"y\" * 100000\n    x = re.sub(\"x\", lambda m: s, \"x\" * 100000)", "max_memory"},
	"split by a pattern":        {"x = re.split(\"\", \"x\" * 1000000)", "max_"},
	"huge pattern":              {"re.search(\"(abcdefghij){300}\", \"a\")", "too large"},
	"slow pattern":              {"re.search(\"(a|bb|ccc){100}d\", \"a\" * 1000000)", "max_steps"},
	"map to long texts":         {"return request.arguments if [json.encode([\"x\" * 100000]) for _ in range(1000)] else None", "max_memory"},
	"long layout, held":         {"s = \"Monday\" * 100000\n    f = time.now().format\n    x = [f(s) for _ in range(100)]", "max_memory"},
	"time zones":                {"t = time.now()\n    x = [t.in_location(\"Europe/Berlin\") for _ in range(100000)]", "max_memory"},
	"times in zones":            {"x = [time.time(year = 2026, location = \"Europe/Berlin\") for _ in range(100000)]", "max_memory"},
	"names":                     {"x = [dir(\"\") for _ in range(100000)]", "max_memory"},
	"matches with many groups":  {"x = [re.search(\"()\" * 400, \"\") for _ in range(100000)]", "max_memory"},
	"groups of a match":         {"m = re.search(\"()\" * 400, \"\")\n    x = [m.groups for _ in range(100000)]", "max_memory"},
	"long layout":               {"s = \"Monday\" * 100000\n    x = [time.now().format(s) for _ in range(100)]", "max_memory"},
	"long print":                {"s = \"x\" * 1000000\n    print(*([s] * 100))", "max_memory"},
	"long separator":            {"print(sep = \"x\" * 100000, *([\"\"] * 100000))", "max_memory"},
	"long argument":             {"return {\"x\": \"x\" * 2000000}", "max_size"},
	"answer too long":           {"answer(\"x\" * 2000000)", "max_size"},
	"emit too much":             {"emit(\"x\", {\"x\": \"x\" * 100000})", "larger than"},
	"emit too often":            {"for i in range(100): emit(\"x\", {})", "more than 16 events"},
	"cache too much":            {"for i in range(100000): cache.put(i, \"x\" * 500000, ttl = 60)", "max_memory"},
	"many patterns":             {"for i in range(100000): re.search(\"(abcde){200}\" + str(i), \"\")", "max_memory"},
	"codepoints":                {"s = \"x\" * 1000000\n    x = [list(s.codepoints()) for _ in range(100)]", "max_"},
	"elements":                  {"s = \"x\" * 1000000\n    x = [list(s.elems()) for _ in range(100)]", "max_"},
	"update a dict":             {"d, l = {}, [(i, 0) for i in range(1000)]\n    for i in range(1000000): d.update(l)", "max_"},
	"words in place":            {"d = {\"a\": [0]}\n    for _ in range(100): d[\"a\"] += d[\"a\"]", "max_memory"},
	"look through a text":       {"s = \"x\" * 1000000\n    for _ in range(1000000): x = \"y\" in s", "max_steps"},
	"recursion":                 {"f = lambda g: g(g)\n    f(f)", "recursively"},
}

// hostileAfter are bodies of after_call.
var hostileAfter = map[string]attack{
	"map to long texts": {`s = "x" * 1000000` + "\n    return result.map_text(lambda _: s)", "max_"},
	"grow by mapping":   {"for _ in range(100): result = result.map_text(lambda s: s + s)\n    return result", "max_"},
	"grow by text":      {"for _ in range(100): result = result.with_text(result.text + result.text)\n    return result", "max_"},
	"grow by JSON":      {"for _ in range(100): result = result.with_json([result.json(), result.json()])\n    return result", "max_"},
	"keep results":      {`s = "x" * 1000000` + "\n    x = [result.with_text(s) for _ in range(1000)]", "max_memory"},
	"read again":        {"x = [result.content for _ in range(1000000)]", "max_"},
	"loop in a map":     {"def f(s):\n        while True: pass\n    return result.map_text(f)", "max_steps"},
}

// TestHostileScripts runs one after another, because it watches the heap.
func TestHostileScripts(t *testing.T) {
	peak, stop := watchHeap()
	attacks := map[string]attack{}
	for name, a := range hostile {
		attacks[name] = attack{"def before_call(ctx, request):\n    " + a.body, a.want}
	}
	for name, a := range hostileAfter {
		attacks["after: "+name] = attack{"def after_call(ctx, result):\n    " + a.body, a.want}
	}
	for name, h := range attacks {
		before, start := heap(), time.Now()
		peak.Store(0)
		hook := newWorld().source(t, h.body)
		c := call(`{"a":1}`)
		err := through(t, hook, c, &work{result: textResult(t, "["+strings.Repeat(`"abc",`, 100)+"1]")})
		if err == nil {
			t.Errorf("%s: it was let through", name)
			continue
		}
		if !strings.Contains(err.Error(), h.want) || !strings.Contains(err.Error(), "test.star:") {
			t.Errorf("%s: got %v, want a place and %q", name, err, h.want)
		}
		grown := peak.Load() - before
		if grown > heapBound {
			t.Errorf("%s: the heap grew by %d MiB", name, grown>>20)
		}
		t.Logf("%s: %v, %d MiB, %v", name, time.Since(start).Round(time.Millisecond), grown>>20, err)
	}
	stop()
}

func heap() int64 {
	runtime.GC()
	return heapNow()
}

func heapNow() int64 {
	// Unlike runtime.ReadMemStats this does not stop the world.
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// watchHeap keeps the largest heap that it sees until it is stopped.
func watchHeap() (*atomic.Int64, func()) {
	var peak atomic.Int64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if now := heapNow(); now > peak.Load() {
					peak.Store(now)
				}
			}
		}
	}()
	return &peak, func() { close(done); <-ended }
}
