package admin

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// changed names the fields that an edit changed, for the audit: never their values.
func changed(old, edited core.Server) []string {
	var names []string
	before, after := reflect.ValueOf(old), reflect.ValueOf(edited)
	for i := range before.NumField() {
		if !equal(before.Field(i), after.Field(i)) {
			names = append(names, fieldName(before.Type().Field(i).Name))
		}
	}
	return names
}

// equal takes an empty list or map for none.
func equal(a, b reflect.Value) bool {
	if k := a.Kind(); (k == reflect.Slice || k == reflect.Map) && a.Len()+b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// fieldName is a field's name in JSON.
func fieldName(name string) string {
	if name == "URL" {
		return "url"
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// details makes the details of an audit row.
func details(key string, value any) json.RawMessage {
	raw, err := json.Marshal(map[string]any{key: value})
	if err != nil {
		return nil // values are strings and lists of them
	}
	return raw
}
