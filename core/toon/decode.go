package toon

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Decode reads a TOON document and gives it as JSON without white space. The error
// says what is wrong with it, and in which line.
func Decode(document string, o Options) (json.RawMessage, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	if !utf8.ValidString(document) {
		if !o.Lenient {
			return nil, errUTF8
		}
		document = strings.ToValidUTF8(document, "\ufffd")
	}
	d := decoder{lines: lines{options: o, rest: strings.TrimPrefix(document, bom)}}
	d.advance()
	d.root()
	if d.err != nil {
		return nil, d.err
	}
	return d.out, nil
}

// decoder writes JSON while it reads. After its first error there are no more lines,
// so that everything comes to its end.
type decoder struct {
	lines
	out []byte
	// spans counts the arrays and tables that are being read and have begun: a blank
	// line in one is an error (§12).
	spans int
	// nesting counts the objects and arrays that are open.
	nesting int
	// members are those of the open objects, the innermost one's last.
	members []member
	cells   []string
}

// take consumes the line ahead.
func (d *decoder) take() string {
	content := d.ahead.content
	if d.ahead.gap && d.spans > 0 && !d.options.Lenient {
		d.failAhead(faultf("a blank line inside an array"))
		return content
	}
	d.advance()
	return content
}

// root reads the whole document (§5).
func (d *decoder) root() {
	content, ok := d.next(0)
	if !ok {
		d.out = append(d.out, "{}"...)
		return
	}
	h, ok, _ := d.header(content)
	switch {
	case ok && h.keyless:
		d.take()
		d.array(h, 0)
	case content == "[]":
		d.take()
		d.out = append(d.out, "[]"...)
	default:
		d.take()
		if d.ended && d.err == nil && unquotedIndex(content, ':') < 0 {
			d.primitive(content)
			return
		}
		d.object(0, content)
	}
	if !d.ended && !d.options.Lenient {
		d.failAhead(faultf("the document goes on behind its end"))
	}
}

// push and pop enclose what an object or an array holds.
func (d *decoder) push(c byte) {
	if d.nesting++; d.nesting > MaxDepth {
		d.fail(ErrTooDeep)
	}
	d.out = append(d.out, c)
}

func (d *decoder) pop(c byte) {
	d.nesting--
	d.out = append(d.out, c)
}

// object reads an object whose fields stand at depth, the first of them, if there
// is one yet, having been read as a part of a line.
func (d *decoder) object(depth int, first string) {
	d.push('{')
	o := d.open()
	if first != "" {
		d.field(&o, first, depth)
	}
	for {
		if _, ok := d.next(depth); !ok {
			break
		}
		d.field(&o, d.take(), depth)
	}
	d.close(&o)
	d.pop('}')
}

// field reads a field that stands at depth (§8).
func (d *decoder) field(o *openObject, s string, depth int) {
	h, ok, err := d.header(s)
	if ok && h.keyless {
		ok, err = false, faultf("a header without a key, where a field should be")
	}
	if err != nil && !d.options.Lenient {
		d.fail(err)
		return
	}
	if ok {
		d.begin(o, h.key)
		d.array(h, depth)
		d.end(o)
		return
	}
	key, value, ok := d.pair(s)
	if !ok {
		return
	}
	d.begin(o, key)
	switch value {
	case "":
		d.object(d.opened(depth+1), "")
	case "[]":
		d.out = append(d.out, value...)
	default:
		d.primitive(value)
	}
	d.end(o)
}

// pair splits a line at its first colon.
func (d *decoder) pair(s string) (key, value string, ok bool) {
	i := unquotedIndex(s, ':')
	if i < 0 {
		d.fail(faultf("no colon behind the key"))
		return "", "", false
	}
	key, err := parseKey(s[:i])
	if err != nil {
		d.fail(err)
		return "", "", false
	}
	return key, strings.Trim(s[i+1:], " "), true
}

// primitive reads a token (§4).
func (d *decoder) primitive(s string) {
	switch {
	case strings.HasPrefix(s, `"`):
		text, err := unquote(s)
		if err != nil {
			d.fail(err)
			return
		}
		d.out = appendQuoted(d.out, text)
	case s == "true" || s == "false" || s == "null":
		d.out = append(d.out, s...)
	case isNumber(s):
		d.out = appendNumber(d.out, s)
	default:
		d.out = appendQuoted(d.out, s)
	}
	if len(d.out) > d.options.Limit {
		d.fail(ErrTooLong)
	}
}
