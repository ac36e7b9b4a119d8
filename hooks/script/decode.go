package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/toolscout/toolscout/core/rawjson"
)

// decode turns JSON text into a value of the script's own. Whole numbers become
// ints of any size, others floats; objects and arrays remember their text, so that
// what the script leaves alone is written as it was. what names the text in errors.
func (r *run) decode(what string, text []byte) (starlark.Value, error) {
	if int64(len(text)) > r.Size {
		return nil, r.errSize(what)
	}
	if err := r.work(int64(len(text))); err != nil {
		return nil, err
	}
	if err := rawjson.Check(text, deepest); err != nil {
		return nil, fmt.Errorf("%s cannot be read as JSON: %w", what, err)
	}
	start := rawjson.Space(text, 0)
	return r.value(text[start:rawjson.Skip(text, start)])
}

// value is decode for a part of what was checked, without white space around it.
func (r *run) value(text []byte) (starlark.Value, error) {
	switch text[0] {
	case '{':
		return r.object(text)
	case '[':
		return r.array(text)
	}
	if err := r.allocate(costString + int64(len(text))); err != nil {
		return nil, err
	}
	return scalar(text)
}

func (r *run) object(text []byte) (starlark.Value, error) {
	if err := r.work(int64(len(text))); err != nil { // each level is gone over anew
		return nil, err
	}
	if err := r.allocate(costDict + costEntry); err != nil {
		return nil, err
	}
	d := new(starlark.Dict)
	var keys crowd
	many := len(text) >= few*len(`"":0,`)
	var first error
	err := rawjson.Members(text, func(m rawjson.Member) {
		if first != nil {
			return
		}
		if first = r.allocate(costEntry + costString + int64(len(m.Name))); first != nil {
			return
		}
		key := starlark.String(valid(m.Name))
		if many {
			if first = keys.join(&r.account, key); first != nil {
				return
			}
		}
		v, err := r.value(text[m.Start:m.End])
		if err == nil {
			err = d.SetKey(key, v)
		}
		first = err
	})
	if err == nil {
		err = first
	}
	r.texts[d] = text
	return d, err
}

func (r *run) array(text []byte) (starlark.Value, error) {
	if err := r.work(int64(len(text))); err != nil {
		return nil, err
	}
	if err := r.allocate(costList + costEntry); err != nil {
		return nil, err
	}
	var elems []starlark.Value
	var first error
	err := rawjson.Elements(text, func(start, end int) {
		if first != nil {
			return
		}
		if first = r.allocate(3 * costElem); first != nil {
			return
		}
		var v starlark.Value
		if v, first = r.value(text[start:end]); first == nil {
			elems = append(elems, v)
		}
	})
	if err == nil {
		err = first
	}
	list := starlark.NewList(elems)
	r.texts[list] = text
	return list, err
}

func scalar(text []byte) (starlark.Value, error) {
	switch text[0] {
	case 'n':
		return starlark.None, nil
	case 't':
		return starlark.True, nil
	case 'f':
		return starlark.False, nil
	case '"':
		return str(text)
	default:
		return number(text)
	}
}

func str(text []byte) (starlark.Value, error) {
	inner := text[1 : len(text)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return starlark.String(inner), nil
	}
	var s string
	err := json.Unmarshal(text, &s)
	return starlark.String(s), err
}

// valid is text in which what is no UTF-8 has been replaced, as it is in strings.
func valid(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string(bytes.ToValidUTF8(text, []byte("\uFFFD")))
}

// number reads an int where there is neither point nor exponent. What is too large
// for a float becomes infinity, and is written as it was unless it is moved.
func number(text []byte) (starlark.Value, error) {
	if bytes.ContainsAny(text, ".eE") {
		f, _ := strconv.ParseFloat(string(text), 64)
		return starlark.Float(f), nil
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return starlark.MakeInt64(n), nil
	}
	const digits = intBits * 3 / 10
	if len(text) > digits {
		return nil, &limitError{fmt.Sprintf("an integer of more than %d digits", digits)}
	}
	n, ok := new(big.Int).SetString(string(text), 10)
	if !ok {
		return nil, fmt.Errorf("%.40q is no number", text)
	}
	return starlark.MakeBigInt(n), nil
}

// same reports whether two texts are one and the same piece of memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
