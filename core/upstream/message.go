package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolscout/toolscout/core/rawjson"
)

// maxDepth bounds the nesting of what a server sends: the SDK's own bound, so that
// what passes here also passes at clients.
const maxDepth = 1000

// decode takes a JSON-RPC message apart without touching the values inside: they
// are parts of data. It does what jsonrpc.DecodeMessage does, which spent 30 KB on
// each small message (measured by BenchmarkCallHTTP).
func decode(data []byte) (jsonrpc.Message, error) {
	if err := rawjson.Check(data, maxDepth); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	var m struct{ version, id, method, params, result, failure []byte }
	err := pick(data, map[string]*[]byte{"jsonrpc": &m.version, "id": &m.id, "method": &m.method,
		"params": &m.params, "result": &m.result, "error": &m.failure})
	if err != nil {
		return nil, err
	}
	if string(m.version) != `"2.0"` {
		return nil, fmt.Errorf("JSON-RPC version is %q", m.version)
	}
	id, err := decodeID(m.id)
	if err != nil {
		return nil, err
	}
	if m.method != nil {
		var method string
		if err := json.Unmarshal(m.method, &method); err != nil {
			return nil, fmt.Errorf("method: %w", err)
		}
		return &jsonrpc.Request{ID: id, Method: method, Params: m.params}, nil
	}
	if !id.IsValid() {
		return nil, errors.New("neither a method nor an id")
	}
	resp := &jsonrpc.Response{ID: id, Result: m.result}
	if m.failure != nil && string(m.failure) != "null" {
		rpc, err := decodeError(m.failure)
		if err != nil {
			return nil, fmt.Errorf("error: %w", err)
		}
		resp.Error = rpc
	}
	return resp, nil
}

// encode puts a message together. The parameters of a request stay byte for byte
// what they are: jsonrpc.EncodeMessage takes the white space out of them.
func encode(msg jsonrpc.Message) ([]byte, error) {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || req.Params == nil {
		return jsonrpc.EncodeMessage(msg)
	}
	head, err := jsonrpc.EncodeMessage(&jsonrpc.Request{ID: req.ID, Method: req.Method})
	if err != nil {
		return nil, err
	}
	head = head[:len(head)-1] // reopened
	return bytes.Join([][]byte{head, []byte(`,"params":`), req.Params, {'}'}}, nil), nil
}

func decodeError(raw []byte) (*jsonrpc.Error, error) {
	var code, message, data []byte
	if err := pick(raw, map[string]*[]byte{"code": &code, "message": &message, "data": &data}); err != nil {
		return nil, err
	}
	e := &jsonrpc.Error{Data: data}
	if code != nil {
		if err := json.Unmarshal(code, &e.Code); err != nil {
			return nil, err
		}
	}
	if message != nil {
		if err := json.Unmarshal(message, &e.Message); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func decodeID(raw []byte) (jsonrpc.ID, error) {
	if raw == nil {
		return jsonrpc.ID{}, nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return jsonrpc.ID{}, fmt.Errorf("id: %w", err)
	}
	return jsonrpc.MakeID(v)
}

// pick finds members of an object by their exact names, unlike encoding/json, which
// also takes them in other cases.
func pick(data []byte, fields map[string]*[]byte) error {
	return rawjson.Members(data, func(m rawjson.Member) {
		if field, ok := fields[string(m.Name)]; ok {
			*field = data[m.Start:m.End:m.End]
		}
	})
}
