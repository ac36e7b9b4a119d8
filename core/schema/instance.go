package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// The bounds of values. Deeper nesting and longer numbers have no use but to
// make somebody work: the exponent of 1e999999999 is eleven bytes long.
const (
	maxArgDepth    = 100
	maxNumberBytes = 400
	maxExponent    = 400
)

// Instance is JSON as a schema looks at it, with what bounds the cost of looking.
type Instance struct {
	value any // numbers are json.Number
	nodes int
	depth int
}

// Decode reads a value. Names that occur twice are faults: what is checked here and
// what others read could differ.
func Decode(raw json.RawMessage) (Instance, []core.Fault) {
	d := decoder{dec: json.NewDecoder(bytes.NewReader(raw))}
	d.dec.UseNumber()
	v, err := d.value(0)
	if err == nil {
		_, err = d.dec.Token()
	}
	if err != io.EOF && len(d.faults) == 0 {
		return Instance{}, []core.Fault{{Message: "not valid JSON"}}
	}
	return Instance{v, d.nodes, d.deepest}, d.faults
}

// DecodeObject reads a value that must be an object.
func DecodeObject(raw json.RawMessage) (Instance, []core.Fault) {
	in, faults := Decode(raw)
	if _, isObject := in.value.(map[string]any); !isObject && len(faults) == 0 {
		faults = []core.Fault{{Message: "got " + typeName(in.value) + ", want object"}}
	}
	return in, faults
}

type decoder struct {
	dec     *json.Decoder
	at      []string // the pointer's tokens
	nodes   int
	deepest int
	faults  []core.Fault
}

// errStop ends decoding after a fault that leaves nothing to go on with.
var errStop = fmt.Errorf("stop")

func (d *decoder) fault(format string, args ...any) {
	if len(d.faults) < maxFaults {
		d.faults = append(d.faults, core.Fault{Pointer: pointer(d.at), Message: fmt.Sprintf(format, args...)})
	}
}

func (d *decoder) value(depth int) (any, error) {
	d.nodes++
	d.deepest = max(d.deepest, depth)
	if depth > maxArgDepth {
		d.at = d.at[:8]
		d.fault("nested deeper than %d levels", maxArgDepth)
		return nil, errStop
	}
	t, err := d.dec.Token()
	if err != nil {
		return nil, bad(err)
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return d.object(depth)
		}
		return d.array(depth)
	case json.Number:
		if !reasonable(t) {
			d.fault("the number is out of range")
		}
		return t, nil
	default:
		return t, nil
	}
}

func (d *decoder) object(depth int) (any, error) {
	m := map[string]any{}
	for d.dec.More() {
		t, err := d.dec.Token()
		if err != nil {
			return nil, bad(err)
		}
		key, ok := t.(string)
		if !ok {
			return nil, errStop
		}
		d.at = append(d.at, key)
		if _, twice := m[key]; twice {
			d.fault("the name occurs twice")
		}
		if m[key], err = d.value(depth + 1); err != nil {
			return nil, err
		}
		d.at = d.at[:len(d.at)-1]
	}
	_, err := d.dec.Token()
	return m, bad(err)
}

func (d *decoder) array(depth int) (any, error) {
	list := []any{}
	for d.dec.More() {
		d.at = append(d.at, strconv.Itoa(len(list)))
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		d.at = d.at[:len(d.at)-1]
		list = append(list, v)
	}
	_, err := d.dec.Token()
	return list, bad(err)
}

// bad turns the end of the input in the middle of a value into an error that is
// not the end that is expected behind it.
func bad(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// reasonable reports whether arithmetic on a number stays small.
func reasonable(n json.Number) bool {
	if len(n) > maxNumberBytes {
		return false
	}
	i := strings.IndexAny(string(n), "eE")
	if i < 0 {
		return true
	}
	exponent, err := strconv.Atoi(string(n[i+1:]))
	return err == nil && math.Abs(float64(exponent)) <= maxExponent
}

// pointer writes an RFC 6901 JSON pointer.
func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}
