package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxAnswer bounds a message from the server, in bytes.
const maxAnswer = 64 << 20

// errLost means that the server does not know the session.
var errLost = errors.New("the server has lost the session")

// request makes an HTTP request with what all of them carry.
func (b *bridge) request(ctx context.Context, method string, body []byte, session string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, b.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	r.Header.Set("Accept", "application/json, "+eventStream)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if session != "" {
		r.Header.Set(sessionHeader, session)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.version != "" {
		r.Header.Set(versionHeader, b.version)
	}
	return r, nil
}

// send delivers a message and writes what comes back. A lost session is opened
// again, and the message sent again: the server did not look at it.
func (b *bridge) send(ctx context.Context, line []byte, m envelope) {
	b.mu.Lock()
	session := b.session
	b.mu.Unlock()
	err := b.post(ctx, line, m, session)
	if errors.Is(err, errLost) {
		if session, err = b.renew(ctx, session); err == nil {
			err = b.post(ctx, line, m, session)
		}
	}
	b.tell(ctx, m, err)
}

// tell answers a request that could not be delivered. A request that the client
// has aborted itself gets no answer, as it asked.
func (b *bridge) tell(ctx context.Context, m envelope, err error) {
	if err == nil || ctx.Err() != nil || m.method == "" || m.id == nil {
		return
	}
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		e = &jsonrpc.Error{Code: bridgeError, Message: err.Error()}
	}
	b.answer(m.id, e)
}

// post sends a message and writes out all that is answered to it.
func (b *bridge) post(ctx context.Context, line []byte, m envelope, session string) error {
	headers := modernHeaders(m)
	if headers != nil {
		session = ""
	}
	r, err := b.request(ctx, http.MethodPost, line, session)
	if err != nil {
		return err
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	resp, err := b.client.Do(r)
	if err != nil {
		return fmt.Errorf("the Toolscout server cannot be reached: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNotFound && session != "" {
		return errLost
	}
	if m.method == "initialize" && resp.StatusCode == http.StatusOK {
		b.mu.Lock()
		b.session = resp.Header.Get(sessionHeader)
		b.mu.Unlock()
	}
	return b.pass(resp, m)
}

// pass writes out the messages of a response.
func (b *bridge) pass(resp *http.Response, m envelope) error {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // "" for what is none
	answered := m.id == nil || m.method == ""
	each := func(message []byte) {
		got, refusal := open(message)
		if refusal == nil && got.method == "" && bytes.Equal(got.id, m.id) {
			answered = true
			b.learn(m, message)
		}
		b.write(message)
	}
	if resp.StatusCode == http.StatusOK && media == eventStream {
		if err := readEvents(resp.Body, each); err != nil {
			return fmt.Errorf("the answer was cut off, the call may have run: %w", err)
		}
	} else {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return fmt.Errorf("the answer was cut off, the call may have run: %w", err)
		}
		if resp.StatusCode >= http.StatusMultipleChoices {
			return refusalOf(resp, body)
		}
		if len(body) > 0 {
			each(body)
		}
	}
	if !answered && !m.batch {
		return errors.New("the server ended without an answer, the call may have run")
	}
	return nil
}

// refusalOf is the error of a response that is none of the protocol's: a JSON-RPC
// error as it is, a problem document by its words.
func refusalOf(resp *http.Response, body []byte) error {
	var doc struct {
		Error  *jsonrpc.Error `json:"error"`
		Detail string         `json:"detail"`
		Hint   string         `json:"hint"`
	}
	if json.Unmarshal(body, &doc) == nil && doc.Error != nil {
		return doc.Error
	}
	text := resp.Status
	if doc.Detail != "" {
		text += ": " + doc.Detail
	}
	if doc.Hint != "" {
		text += " (" + doc.Hint + ")"
	}
	return fmt.Errorf("the Toolscout server refused: %s", text)
}

// modernHeaders are the headers that mirror a message of the generation without
// sessions; nil for a message of the other one.
func modernHeaders(m envelope) map[string]string {
	var params, meta map[string]json.RawMessage // maps: the case of a key counts
	if json.Unmarshal(m.params, &params) != nil || json.Unmarshal(params["_meta"], &meta) != nil {
		return nil
	}
	text := func(raw json.RawMessage) (s string) {
		_ = json.Unmarshal(raw, &s) // what is no string is refused by the server
		return s
	}
	version := text(meta[mcp.MetaKeyProtocolVersion])
	if version < modernVersion {
		return nil
	}
	headers := map[string]string{versionHeader: version, "Mcp-Method": headerValue(m.method)}
	switch m.method {
	case "tools/call", "prompts/get":
		headers["Mcp-Name"] = headerValue(text(params["name"]))
	case "resources/read":
		headers["Mcp-Name"] = headerValue(text(params["uri"]))
	}
	return headers
}

// headerValue is a value as a header can carry it: what is not plain goes in
// base64 (specification of 2026-07-28, Streamable HTTP, value encoding).
func headerValue(s string) string {
	plain := s == strings.TrimSpace(s) && !strings.HasPrefix(s, "=?base64?")
	for i := range len(s) {
		plain = plain && s[i] >= ' ' && s[i] <= '~'
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// readEvents calls each with the data of every event of a stream.
func readEvents(r io.Reader, each func([]byte)) error {
	lines := bufio.NewReaderSize(r, 16<<10)
	var data []byte
	for {
		line, err := lines.ReadSlice('\n')
		full := append([]byte(nil), line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = lines.ReadSlice('\n')
			if full = append(full, line...); len(full) > maxAnswer {
				return fmt.Errorf("an event has more than %d bytes", maxAnswer)
			}
		}
		text := bytes.TrimRight(full, "\r\n")
		if value, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			if data != nil {
				data = append(data, '\n')
			}
			if data = append(data, bytes.TrimPrefix(value, []byte(" "))...); len(data) > maxAnswer {
				return fmt.Errorf("an event has more than %d bytes", maxAnswer)
			}
		}
		if len(text) == 0 && len(data) > 0 {
			each(data)
			data = nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
