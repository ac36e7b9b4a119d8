package toon_test

import (
	"encoding/json"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// value is a JSON text made comparable: numbers by their value, however it is
// written, and objects by their members, of which TOON's tables keep no order.
func value(t testing.TB, raw string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("%s: goes on behind its end", raw)
	}
	return plain(v)
}

func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		return "number " + magnitude(v.String())
	case string:
		return "text " + v
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

// magnitude is a number as an integer without trailing zeros, and a power of ten.
func magnitude(s string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	e, ok := new(big.Int), true
	if exponent != "" {
		e, ok = e.SetString(strings.TrimPrefix(exponent, "+"), 10)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	m, fine := new(big.Int).SetString(whole+fraction, 10)
	if !ok || !fine {
		return "not a number: " + s
	}
	if m.Sign() == 0 {
		return "0"
	}
	e.Sub(e, big.NewInt(int64(len(fraction))))
	all := m.String()
	short := strings.TrimRight(all, "0")
	e.Add(e, big.NewInt(int64(len(all)-len(short))))
	return short + "e" + e.String()
}

// outer are the strings on the outermost level of an object, in order.
func outer(raw string) []string {
	d := json.NewDecoder(strings.NewReader(raw))
	var found []string
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return found
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			if depth == 1 {
				found = append(found, token)
			}
		}
	}
}

// hasTwice reports whether an object in a valid JSON text has a key twice.
func hasTwice(raw string) bool {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	var twice func() bool
	twice = func() bool {
		token, err := d.Token()
		if err != nil {
			return false
		}
		open, ok := token.(json.Delim)
		if !ok {
			return false
		}
		seen, found := map[string]bool{}, false
		for d.More() {
			if open == '{' {
				key, _ := d.Token()
				name, _ := key.(string)
				found = found || seen[name]
				seen[name] = true
			}
			found = twice() || found
		}
		_, _ = d.Token()
		return found
	}
	return twice()
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
