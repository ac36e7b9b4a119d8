package toon

import (
	"encoding/json"

	"github.com/toolscout/toolscout/core/rawjson"
	"github.com/toolscout/toolscout/hooks/result"
)

const mark = `"` + Format + `":"toon"`

// marked gives a block with another text, and a member in its _meta that says what
// the text is. The block's other members stay as they are.
func marked(b result.Block, text string) json.RawMessage {
	raw := b.WithText(text)
	block, err := rawjson.Scan(raw)
	if err != nil {
		return raw
	}
	m, ok := block.Last("_meta")
	if !ok {
		return block.Insert(raw, []byte(`"_meta":{`+mark+`}`))
	}
	value := []byte(`{` + mark + `}`)
	if meta, err := rawjson.Scan(raw[m.Start:m.End]); err == nil {
		if _, ok := meta.Last(Format); ok {
			return raw // somebody says already what it is
		}
		value = meta.Insert(raw[m.Start:m.End], []byte(mark))
	}
	return rawjson.Replace(raw, m.Start, m.End, value)
}
