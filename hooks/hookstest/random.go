// Package hookstest makes random arguments and results for tests of hooks, as no
// encoder would write them: with spaces, large numbers, escapes, broken text and
// members that nobody knows. All of it is JSON.
package hookstest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Result is a random CallToolResult, or something that is JSON and nearly one.
func Result(r *rand.Rand) json.RawMessage {
	if r.IntN(40) == 0 {
		return json.RawMessage(pick(r, `null`, `[ ]`, `"text"`, `1.50`, `{"content":null}`, `{"content":{}}`, `{"content":[null,1,"a",{}]}`))
	}
	content, structured := content(r)
	parts := []string{`"content":` + content}
	if structured != "" {
		parts = append(parts, `"structuredContent" : `+structured)
	}
	parts = append(parts, some(r, `"n": 1.0e2`, `"big":12345678901234567890`, `"u":"\u00e9\/\u0000\ud800"`, "\"raw\":\"\xff\xc3\"", `"_meta":{ "a" :1.10 }`,
		`"isError":`+pick(r, "false", "false", "true", "null"), `"`+strings.Repeat("deep", 9)+`":`+strings.Repeat("[", 50)+strings.Repeat("]", 50))...)
	return object(r, parts)
}

// Arguments are random arguments of a tool.
func Arguments(r *rand.Rand) json.RawMessage {
	return object(r, some(r, `"q":"  where is it\u003f "`, `"limit": 1e3`, `"secret":"Bearer abcdefghijklmnop0123456789"`, `"big":12345678901234567890`,
		`"list":[ 1, 2.50 ,{"a" : null}]`, `"nested":{"q":"\/x","n":-0.0}`, `"é":"é"`, "\"raw\":\"\xff\"", `"":""`))
}

// content is the blocks of a result, and structured content for it or "".
func content(r *rand.Rand) (blocks, structured string) {
	var list []string
	for range r.IntN(5) {
		list = append(list, block(r))
	}
	switch r.IntN(4) {
	case 0:
		structured = value(r)
		list = append(list, textBlock(r, structured)) // says the same
	case 1:
		structured = value(r)
	}
	r.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	return "[" + space(r) + strings.Join(list, space(r)+","+space(r)) + space(r) + "]", structured
}

func block(r *rand.Rand) string {
	data := base64.StdEncoding.EncodeToString(bytes(r, r.IntN(3000)))
	switch r.IntN(12) {
	case 0:
		return string(object(r, []string{`"type":"image"`, `"data":"` + data + `"`, `"mimeType":"image\/png"`}))
	case 1:
		return string(object(r, []string{`"type":"audio"`, `"data":"` + data + `"`, `"mimeType":"audio/wav"`}))
	case 2:
		return string(object(r, []string{`"type":"resource"`, `"resource":{"uri":"x:y","` + pick(r, `text":"a\tb"}`, `blob":"`+data+`"}`)}))
	case 3:
		return string(object(r, []string{`"type":"resource_link"`, `"uri":"x:y"`, `"name":"n"`}))
	case 4:
		return string(object(r, []string{`"type":"hologram"`, `"depth": 1.0e0`}))
	case 5, 6:
		return textBlock(r, value(r))
	case 7:
		return textBlock(r, testRun(r))
	}
	return textBlock(r, prose(r))
}

func textBlock(r *rand.Rand, text string) string {
	return string(object(r, append(some(r, `"annotations":{"priority": 1.0}`, `"_meta":{"b":2.0}`, `"x":[ ]`), `"type":"text"`, `"text":`+quoted(r, text))))
}

// value is a JSON object or list, often a list of rows that are all alike.
func value(r *rand.Rand) string {
	rows := make([]string, r.IntN(60))
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id": %d,"name":%q,"price":%d.50,"tags":%s}`, i, pick(r, "bolt", "nut, small", `a "quoted" one`, "Mutter – groß", ""), r.IntN(1000), pick(r, "null", "true", `"x"`))
	}
	list := "[" + strings.Join(rows, ","+space(r)) + "]"
	switch r.IntN(4) {
	case 0:
		return list
	case 1:
		return string(object(r, []string{`"rows":` + list, `"next":null`, `"total":1.0e3`}))
	case 2:
		return string(object(r, some(r, `"n":12345678901234567890`, `"s":"\u00e9"`, `"o":{"a":[1,[2,{}]]}`, `"e":""`)))
	}
	return string(object(r, []string{`"text":` + quoted(r, prose(r))}))
}

// prose is text that is no JSON, short or long, with letters of all sizes.
func prose(r *rand.Rand) string {
	words := []string{"bolt", "Größe", "日本語", "🙂", "a@example.com", "{", "}", "\n", "\t", "\"", "\\", "\u0000", "</x>", "\u2028", "0"}
	var b strings.Builder
	for range r.IntN([]int{4, 40, 4000}[r.IntN(3)]) {
		b.WriteString(words[r.IntN(len(words))] + " ")
	}
	return b.String()
}

// testRun is what `go test` prints.
func testRun(r *rand.Rand) string {
	var b strings.Builder
	for i := range r.IntN(80) {
		if r.IntN(10) == 0 {
			fmt.Fprintf(&b, "--- FAIL: TestThing%d (0.00s)\n    thing_test.go:%d: got %d\n", i, i, r.IntN(9))
			continue
		}
		fmt.Fprintf(&b, "=== RUN   TestOther%d\n--- PASS: TestOther%d (0.00s)\n", i, i)
	}
	return b.String() + "FAIL\nFAIL\texample.com/thing\t0.012s\nok  \texample.com/other\t0.003s\nFAIL\n"
}

// quoted is a text as JSON, with or without escapes that are not needed.
func quoted(r *rand.Rand, text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text always encodes
	}
	if r.IntN(3) == 0 {
		return strings.ReplaceAll(string(raw), "o", `\u006f`)
	}
	return string(raw)
}

// object puts members together, in any order.
func object(r *rand.Rand, members []string) json.RawMessage {
	r.Shuffle(len(members), func(a, b int) { members[a], members[b] = members[b], members[a] })
	return json.RawMessage("{" + space(r) + strings.Join(members, space(r)+","+space(r)) + space(r) + "}")
}

// some of what there is.
func some(r *rand.Rand, all ...string) []string {
	r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	return all[:r.IntN(len(all)+1)]
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

func space(r *rand.Rand) string { return pick(r, "", "", "", " ", "\n\t", "  ") }

func bytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
