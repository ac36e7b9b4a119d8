package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// kinds make a plan one of a type, with a random configuration.
var kinds = []func(*world, *plan){
	func(w *world, p *plan) { p.set("audit", one(w, `{}`, `{"values":true,"redact":["q"]}`)) },
	func(w *world, p *plan) {
		p.set("access_control", one(w, `{"allow":["*"]}`, `{"deny":["nothing"]}`, `{"allow":["up_*","execute_tool"]}`, `{"deny":["up_*"],"message":"closed"}`, `{"require_roles":["owner"]}`))
	},
	func(w *world, p *plan) {
		p.set("rate_limit", one(w, `{"rate":1000000,"per":"1s"}`, `{"concurrency":5}`, `{"rate":100,"concurrency":100,"by":["user","tool"]}`, `{"rate":1,"per":"24h"}`))
	},
	sanitizers,
	func(w *world, p *plan) {
		p.set("response_truncation", one(w, `{"max_bytes":1024}`, `{"max_bytes":1024}`, `{"max_tokens":400,"keep":"head_tail"}`, `{"max_block_bytes":1024}`, `{"max_bytes":4096}`, `{"max_binary_bytes":500}`))
		if p.stores = w.rand.IntN(4) > 0; !p.stores {
			p.Config = append(bytes.TrimSuffix(p.Config, []byte("}")), `,"store":false}`...)
		}
	},
	func(w *world, p *plan) {
		p.set("toon_transform", one(w, `{}`, `{"min_bytes":0,"min_saving":0}`, `{"structured":"keep"}`, `{"errors":true,"delimiter":"tab"}`))
	},
	func(w *world, p *plan) {
		p.set("test_filter", one(w, `{}`, `{"max_failures":1,"max_lines":4}`, `{"frameworks":["go"]}`))
	},
	func(w *world, p *plan) {
		p.set("llm_enrich", fmt.Sprintf(`{"base_url":"%s/chat/%s","model":"m","triggers":[%q]}`, w.desk.URL, p.Name, one(w, ".", "bolt", "this never stands there")))
	},
	func(w *world, p *plan) {
		p.set("event_emit", fmt.Sprintf(`{"channel":"used:%s","arguments":%q,"result":%q,"wait":%t}`, p.Name, one(w, "none", "shape", "values"), one(w, "none", "shape", "values"), w.rand.IntN(2) == 0))
	},
	func(w *world, p *plan) {
		kind := one(w, "silent", "allow", "replace", "replace", "answer", "reject", "garbage", "fail")
		p.set("webhook", fmt.Sprintf(`{"url":"%s/%s/%s","secret":"a secret that is long enough for this","send":{"args":%q,"result":%q}}`, w.desk.URL, kind, p.Name,
			one(w, "none", "shape", "values"), one(w, "none", "shape", "values")))
		if p.replaces = kind == "replace" || kind == "answer"; p.replaces {
			p.touches = []string{"*"}
		}
		p.halve(w)
	},
	scripts, scripts,
}

func (p *plan) set(typ, config string) { p.Type, p.Config = typ, json.RawMessage(config) }

// halve leaves a hook only one of its halves, now and then.
func (p *plan) halve(w *world) {
	if p.Level == hooks.Both && w.rand.IntN(4) == 0 {
		p.Events = one(w, []hooks.Event{hooks.ToolAfter, hooks.MetaAfter}, []hooks.Event{hooks.ToolBefore, hooks.MetaBefore}, []hooks.Event{hooks.ToolBefore, hooks.MetaAfter})
	}
}

func sanitizers(w *world, p *plan) {
	rule := one(w,
		[2]string{`{"do":"trim","pointer":"/q","max_length":5}`, "q"},
		[2]string{`{"do":"drop","pointer":"/secret"}`, "secret"},
		[2]string{`{"do":"set","pointer":"/dry_run","value": 1.0 }`, "dry_run"},
		[2]string{`{"do":"clamp","pointer":"/limit","max":10}`, "limit"},
		[2]string{`{"do":"redact","pointer":"/secret"}`, "secret"},
		[2]string{`{"do":"replace","pointer":"/nested/q","match":"x","with":"y"}`, "nested"},
		[2]string{`{"do":"deny","pointer":"/q","match":"where"}`, ""})
	unknown := one(w, "keep", "keep", "keep", "drop", "refuse")
	p.set("param_sanitizer", fmt.Sprintf(`{"rules":[%s],"unknown":%q}`, rule[0], unknown))
	if p.touches = []string{rule[1]}; unknown == "drop" {
		p.touches = []string{"*"}
	}
}

// carries is a script that fails when what it stored before the call is lost after it.
const carries = "def before_call(ctx, request):\n    ctx.values[\"n\"] = 7\ndef after_call(ctx, result):\n    if ctx.values.get(\"n\") != 7:\n        fail(\"lost\")\n    ctx.warn(\"seen\")\n    ctx.note(\"seen\", 1)\n"

func scripts(w *world, p *plan) {
	source := one(w,
		"def before_call(ctx, request):\n    request.arguments.get(\"q\")\ndef after_call(ctx, result):\n    return None\n",
		"def before_call(ctx, request):\n    request.arguments[\"added\"] = 1\n    return request.arguments\n",
		"def after_call(ctx, result):\n    return result.map_text(lambda s: s.upper())\n",
		"def after_call(ctx, result):\n    return result.with_text(\"short\")\n",
		"def after_call(ctx, result):\n    data = result.json()\n    if type(data) == \"dict\":\n        data[\"seen\"] = True\n        return result.with_json(data)\n",
		carries,
		"def before_call(ctx, request):\n    if \"limit\" in request.arguments:\n        reject(\"no limits\", hint = \"leave it out\")\n",
		"def after_call(ctx, result):\n    if not ctx.error and \"bolt\" in result.text:\n        reject(\"no bolts\")\n",
		"def before_call(ctx, request):\n    answer(\"from memory\")\n",
		"def before_call(ctx, request):\n    request.arguments[\"x\"] = 1\n    fail(\"oops\")\n",
		"def after_call(ctx, result):\n    return 7\n",
		"def after_call(ctx, result):\n    emit(\"used:"+p.Name+"\", {\"n\": 1})\n    return \"told\"\n",
	)
	config, err := core.EncodeJSON(map[string]any{"source": source})
	if err != nil {
		w.t.Fatal(err)
	}
	p.Type, p.Config, p.touches, p.replaces = "script", config, []string{"added"}, true
	p.carries = source == carries
	p.halve(w)
}

// checkUntouched looks at what a hook that ended well made of a call: what is none of
// its type's business is the same, byte for byte.
func (w *world) checkUntouched(p *plan, a attempt) {
	w.t.Helper()
	if !slices.Contains(p.touches, "*") {
		w.same(p, "argument", members(a.in.args, p.touches...), members(a.out.args, p.touches...))
	}
	if p.replaces || bytes.Equal(a.in.result, a.out.result) {
		return
	}
	content := map[string]bool{"response_truncation": true, "toon_transform": true, "test_filter": true, "llm_enrich": true}[p.Type]
	if !content {
		w.t.Errorf("%v changed the result from\n%s to\n%s", p, a.in.result, a.out.result)
		return
	}
	w.same(p, "member", members(a.in.result, "content", "structuredContent"), members(a.out.result, "content", "structuredContent"))
	if p.Type == "response_truncation" {
		return
	}
	old, blocks := blocksOf(a.in.result), blocksOf(a.out.result)
	if len(blocks) < len(old) || len(blocks) > len(old)+1 {
		w.t.Errorf("%v made %d blocks of %d", p, len(blocks), len(old))
		return
	}
	for i, was := range old {
		allowed := []string{"text", "_meta"}
		if p.Type == "llm_enrich" || string(members(was)["type"]) != `"text"` {
			allowed = nil
		}
		w.same(p, fmt.Sprintf("member of block %d", i), members(was, allowed...), members(blocks[i], allowed...))
	}
}

// same wants members to be the same, byte for byte.
func (w *world) same(p *plan, what string, old, now map[string]json.RawMessage) {
	w.t.Helper()
	if !maps.EqualFunc(old, now, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		w.t.Errorf("%v changed a %s: from %.2000q to %.2000q", p, what, old, now)
	}
}

// members are those of an object, with the bytes of their values, but for some.
func members(object []byte, but ...string) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil {
		return map[string]json.RawMessage{"": object} // none: all of it
	}
	for _, name := range but {
		delete(all, name)
	}
	return all
}

func blocksOf(result []byte) []json.RawMessage {
	var blocks []json.RawMessage
	_ = json.Unmarshal(members(result)["content"], &blocks) // what is no list has none
	return blocks
}
