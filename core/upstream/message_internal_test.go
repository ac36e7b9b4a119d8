package upstream

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// seeds are messages, good and bad.
var seeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,{"b":"}\"]"}]}}`,
	` { "jsonrpc" : "2.0" , "method" : "n" } `,
	`{"jsonrpc":"2.0","id":"x","result":{"n":1e400,"deep":[[[]]]}}`,
	`{"result":null,"id":5,"jsonrpc":"2.0"}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":[1]}}`,
	`{"jsonrpc":"2.0","\u0069d":7,"result":-1.5}`,
	`{"jsonrpc":"2.0","ID":7,"result":{}}`,
	`{"jsonrpc":"2.0","id":true,"result":{}}`,
	`{"jsonrpc":"1.0","id":1,"result":{}}`,
	`{"jsonrpc":"2.0","id":1,"method":5}`,
	`{"jsonrpc":"2.0","id":1,"error":5}`,
	`{}`, `[]`, ``, `{"jsonrpc":`, `nonsense`, `{"a":1,}`,
}

// FuzzDecode compares with the SDK's decoder, which is the reference for what a
// message is.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decode(data)
		want, wantErr := jsonrpc.DecodeMessage(data)
		if err != nil || wantErr != nil {
			return // the SDK's takes some that are not quite JSON; those below must agree
		}
		show := func(m jsonrpc.Message) any {
			switch m := m.(type) {
			case *jsonrpc.Request:
				return []any{m.ID.Raw(), m.Method, string(m.Params)}
			case *jsonrpc.Response:
				return []any{m.ID.Raw(), string(m.Result), m.Error}
			}
			return nil
		}
		if diff := cmp.Diff(show(got), show(want)); diff != "" {
			t.Errorf("%s (-got +want):\n%s", data, diff)
		}
	})
}

func TestDecodeAgreesWithSDK(t *testing.T) {
	t.Parallel()
	for _, s := range seeds {
		_, err := decode([]byte(s))
		_, wantErr := jsonrpc.DecodeMessage([]byte(s))
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: got %v, want %v", s, err, wantErr)
		}
	}
}
