package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// initialize opens the session that the client asks for and remembers how.
func (b *bridge) initialize(ctx context.Context, line []byte, m envelope) {
	b.renewal.Lock()
	defer b.renewal.Unlock()
	b.mu.Lock()
	b.opening, b.session, b.version = line, "", ""
	b.mu.Unlock()
	b.tell(ctx, m, b.post(ctx, line, m, ""))
}

// learn takes the version that was agreed on out of the answer to an initialize.
func (b *bridge) learn(m envelope, answer []byte) {
	if m.method != "initialize" {
		return
	}
	var a struct {
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &a) == nil {
		b.mu.Lock()
		b.version = a.Result.ProtocolVersion
		b.mu.Unlock()
	}
}

// renew opens a session again, once however many messages found the old one lost,
// and gives the new one.
func (b *bridge) renew(ctx context.Context, lost string) (string, error) {
	b.renewal.Lock()
	defer b.renewal.Unlock()
	b.mu.Lock()
	session, opening, started := b.session, b.opening, b.started
	b.mu.Unlock()
	if session != lost {
		return session, nil
	}
	if opening == nil {
		return "", errLost
	}
	r, err := b.request(ctx, http.MethodPost, opening, "")
	if err != nil {
		return "", err
	}
	resp, err := b.client.Do(r)
	if err != nil {
		return "", fmt.Errorf("the Toolscout server cannot be reached: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	_ = resp.Body.Close() // all of it is read
	if err != nil {
		return "", fmt.Errorf("open the session again: %w", err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get(sessionHeader) == "" {
		return "", refusalOf(resp, body)
	}
	session = resp.Header.Get(sessionHeader)
	b.mu.Lock()
	b.session = session
	b.mu.Unlock()
	if started {
		note := []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		return session, b.post(ctx, note, envelope{method: "notifications/initialized"}, session)
	}
	return session, nil
}

// listen keeps the stream open by which a server speaks unasked.
func (b *bridge) listen(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session == "" || b.started {
		return
	}
	b.started = true
	b.streams.Go(func() {
		pause := time.Second
		for {
			began := time.Now()
			if !b.streamOnce(ctx) {
				return
			}
			if time.Since(began) > time.Minute {
				pause = time.Second
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, 30*time.Second)
		}
	})
}

// streamOnce reads one GET stream to its end; false means that there is no use in
// another.
func (b *bridge) streamOnce(ctx context.Context) bool {
	b.mu.Lock()
	session := b.session
	b.mu.Unlock()
	if session == "" {
		return false
	}
	r, err := b.request(ctx, http.MethodGet, nil, session)
	if err != nil {
		return false
	}
	resp, err := b.client.Do(r)
	if err != nil {
		return ctx.Err() == nil
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		_, err := b.renew(ctx, session)
		return err == nil || ctx.Err() == nil
	case resp.StatusCode != http.StatusOK:
		return resp.StatusCode >= http.StatusInternalServerError
	}
	return readEvents(resp.Body, b.write) == nil || ctx.Err() == nil
}
