package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/core"
)

// api talks to a running server.
type api struct {
	base, token string
}

// api reads the client's settings. The first admin's token is taken from the
// data folder where none is set, and is only ever sent to this machine.
func (p *program) api() (*api, error) {
	c, err := config.LoadClient(p.source, p.flags)
	if err != nil {
		return nil, err
	}
	a := &api{base: c.URL, token: c.Token}
	if a.token != "" {
		return a, nil
	}
	file := filepath.Join(c.DataDir, adminTokenFile)
	if raw, err := os.ReadFile(file); err == nil && isLoopback(c.URL) {
		a.token = strings.TrimSpace(string(raw))
		return a, nil
	}
	return nil, fmt.Errorf("no token: set TOOLSCOUT_TOKEN (an admin makes one with: toolscout tokens create USER), or run this as whoever runs the server, whose first token is in %s", file)
}

func isLoopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// problem is an RFC 9457 problem document, as the server answers a refusal.
type problem struct {
	Title      string       `json:"title"`
	Detail     string       `json:"detail"`
	Hint       string       `json:"hint"`
	Kind       core.Kind    `json:"kind"`
	Errors     []core.Fault `json:"errors"`
	Candidates []string     `json:"candidates"`
	status     int
}

func (e *problem) Error() string {
	var b strings.Builder
	b.WriteString(e.Detail)
	if e.Detail == "" {
		fmt.Fprintf(&b, "the server answered %d %s", e.status, http.StatusText(e.status))
	}
	for _, f := range e.Errors {
		if !strings.Contains(e.Detail, f.Message) || !strings.Contains(e.Detail, f.Pointer) {
			fmt.Fprintf(&b, "\n  %s: %s", f.Pointer, f.Message)
		}
	}
	for _, c := range e.Candidates {
		fmt.Fprintf(&b, "\n  %s", c)
	}
	if e.Hint != "" {
		b.WriteString("\n  " + asCommands.Replace(e.Hint))
	}
	return b.String()
}

// asCommands names in the server's advice the commands that do what its meta-tools do.
var asCommands = strings.NewReplacer("discover_tools", "toolscout tools search", "list_tool_domains", "toolscout tools list",
	"browse_tool_domain", "toolscout tools list --domain")

// do sends in as JSON and decodes the answer into out; either may be nil. With
// out a *json.RawMessage the answer comes as it is.
func (a *api) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return unreachable(a.base, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", a.base, err)
	}
	if res.StatusCode >= 300 {
		return refusal(res, raw)
	}
	if out == nil || len(raw) == 0 {
		return nil
	}
	if r, ok := out.(*json.RawMessage); ok {
		*r = raw
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s does not answer as Toolscout does: is TOOLSCOUT_URL right? (%w)", a.base, err)
	}
	return nil
}

func unreachable(base string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return fmt.Errorf("no server at %s: start one with toolscout serve, or set TOOLSCOUT_URL (%v)", base, op.Err)
	}
	return err
}

func refusal(res *http.Response, raw []byte) error {
	e := &problem{status: res.StatusCode}
	if json.Unmarshal(raw, e) != nil {
		return fmt.Errorf("%s answered %s: is TOOLSCOUT_URL right?", res.Request.URL, res.Status)
	}
	if res.StatusCode == http.StatusUnauthorized {
		e.Hint = "set TOOLSCOUT_TOKEN to a token that is valid"
	}
	return e
}

// all walks the pages of a list, up to most items (0: all of them).
func all[T any](ctx context.Context, a *api, path string, query url.Values, most int) ([]T, error) {
	query = maps.Clone(query) // the caller's has no cursor
	if query == nil {
		query = url.Values{}
	}
	var out []T
	for {
		query.Set("limit", fmt.Sprint(core.MaxLimit))
		if most > 0 {
			query.Set("limit", fmt.Sprint(min(core.MaxLimit, most-len(out))))
		}
		var page core.List[T]
		if err := a.do(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		out = append(out, page.Items...)
		if page.NextCursor == "" || most > 0 && len(out) >= most {
			return out, nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

// named finds the id of what is called name in a list; an id is taken as it is.
// Tokens need not have names of their own, and revoked ones answer to none.
func named(ctx context.Context, a *api, path, what, name string) (string, error) {
	type item struct {
		ID, Name  string
		RevokedAt *time.Time
	}
	items, err := all[item](ctx, a, path, nil, 0)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, i := range items {
		if i.ID == name {
			return i.ID, nil
		}
		if i.Name == name && i.RevokedAt == nil {
			ids = append(ids, i.ID)
		}
	}
	switch len(ids) {
	case 0:
		return "", fmt.Errorf("no %s is called %q: see toolscout %ss list", what, name, what)
	case 1:
		return ids[0], nil
	}
	return "", fmt.Errorf("%d %ss are called %q: say which by its id\n  %s", len(ids), what, name, strings.Join(ids, "\n  "))
}
