package gateway

import "github.com/toolscout/toolscout/core/rawjson"

// ours is the prefix of the members of _meta that the gateway writes. A server
// that writes some itself is not believed.
const ours = "toolscout/"

// splice adds members to the _meta of a JSON object and leaves every other byte
// as it is: literals, order, whitespace. members is the inside of an object,
// without braces.
func splice(raw, members []byte) ([]byte, error) {
	top, err := rawjson.Scan(raw)
	if err != nil {
		return nil, err
	}
	meta, found := top.Last("_meta")
	if !found {
		return top.Insert(raw, append([]byte(`"_meta":{`), append(members, '}')...)), nil
	}
	return rawjson.Replace(raw, meta.Start, meta.End, spliceMeta(raw[meta.Start:meta.End], members)), nil
}

// spliceMeta is a _meta with members of ours in the place of the server's; one
// that is not an object is replaced.
func spliceMeta(meta, members []byte) []byte {
	if inner, err := rawjson.Scan(meta); err == nil {
		kept := inner.Without(meta, ours)
		if inner, err = rawjson.Scan(kept); err == nil {
			return inner.Insert(kept, members)
		}
	}
	return append(append([]byte{'{'}, members...), '}')
}

// saysError reports what a CallToolResult says of itself; the error is that it is
// not an object.
func saysError(result []byte) (bool, error) {
	says := false
	err := rawjson.Members(result, func(m rawjson.Member) {
		if string(m.Name) == "isError" {
			says = string(result[m.Start:m.End]) == "true"
		}
	})
	return says, err
}
