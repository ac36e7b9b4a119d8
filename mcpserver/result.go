package mcpserver

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/toolscout/toolscout/core/rawjson"
)

// rawResult is a result whose bytes reach the client as they are. The SDK sees
// nothing of it but what it adds itself in the new generation of the protocol.
type rawResult struct {
	mcp.ResultBase
	raw json.RawMessage
}

// MarshalJSON gives the bytes. For a client of the new generation, which the SDK
// shows by setting the server's name in Meta, it adds what the protocol needs.
func (r *rawResult) MarshalJSON() ([]byte, error) {
	info, modern := r.Meta[mcp.MetaKeyServerInfo]
	if !modern {
		return r.raw, nil
	}
	encoded, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	return complete(r.raw, encoded), nil
}

// complete adds to a result object what the protocol wants from 2026-07-28 on and
// the result does not say itself: that it is complete, and who made it.
func complete(raw, serverInfo []byte) []byte {
	var typed, named bool
	metaAt, metaEnd := -1, -1
	isObject := nil == rawjson.Members(raw, func(m rawjson.Member) {
		switch string(m.Name) {
		case "resultType":
			typed = true
		case "_meta":
			metaAt, metaEnd = m.Start, m.End
		}
	})
	if !isObject {
		return raw
	}
	if metaAt >= 0 {
		isMap := nil == rawjson.Members(raw[metaAt:metaEnd], func(m rawjson.Member) {
			named = named || string(m.Name) == mcp.MetaKeyServerInfo
		})
		named = named || !isMap
	}
	const key = `"` + mcp.MetaKeyServerInfo + `":`
	var first []byte
	if !typed {
		first = append(first, `"resultType":"complete"`...)
	}
	if metaAt < 0 {
		if !typed {
			first = append(first, ',')
		}
		first = append(append(append(first, `"_meta":{`+key...), serverInfo...), '}')
	}
	out := make([]byte, 0, len(raw)+len(first)+len(key)+len(serverInfo)+2)
	at := rawjson.Space(raw, 0) + 1
	out = append(out, raw[:at]...)
	if len(first) > 0 {
		out = comma(append(out, first...), raw, at)
	}
	if metaAt >= 0 && !named {
		out = append(out, raw[at:metaAt+1]...)
		at = metaAt + 1
		out = comma(append(append(out, key...), serverInfo...), raw, at)
	}
	return append(out, raw[at:]...)
}

// comma separates what was inserted before raw[at:] from the members that follow.
func comma(out, raw []byte, at int) []byte {
	if raw[rawjson.Space(raw, at)] == '}' {
		return out
	}
	return append(out, ',')
}

// structured is the CallToolResult of a meta-tool: its answer as structured
// content, and the same JSON as text.
func structured(answer json.RawMessage) json.RawMessage {
	const before, between, after = `{"content":[{"type":"text","text":"`, `"}],"structuredContent":`, `}`
	out := make([]byte, 0, len(before)+len(between)+len(after)+2*len(answer)+len(answer)/4)
	out = append(out, before...)
	out = appendEscaped(out, answer)
	out = append(out, between...)
	out = append(out, answer...)
	return append(out, after...)
}

// appendEscaped appends text as the inside of a JSON string.
func appendEscaped(out, text []byte) []byte {
	const hex = "0123456789abcdef"
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, '\\', 'n')
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			out = append(out, c)
		default:
			r, size := utf8.DecodeRune(text[i:])
			out = utf8.AppendRune(out, r) // what is no UTF-8 becomes U+FFFD
			i += size
			continue
		}
		i++
	}
	return out
}

// oneLine is a JSON value without line breaks, as an event stream needs it. Only
// the space between its tokens can change.
func oneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return bytes.Map(func(r rune) rune {
			if r == '\n' || r == '\r' {
				return ' '
			}
			return r
		}, raw)
	}
	return out.Bytes()
}
