package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// load is a steady stream of calls.
type load struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	replies []reply
}

// reply is the answer to one call of a load; its status is 0 when there was none.
type reply struct {
	status    int
	requestID string
	kind      string
	body      string
}

// load runs an exposed tool over REST, by several clients, until it is ended.
func (s *instance) load(t *testing.T, token, tool string) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel}
	for range 4 {
		l.done.Go(func() {
			tick := time.NewTicker(3 * time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				r := call(s.url+"/v1/tools/"+tool, token)
				l.mu.Lock()
				l.replies = append(l.replies, r)
				l.mu.Unlock()
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	t.Cleanup(func() { l.end() })
	return l
}

func call(url, token string) reply {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"args":{}}`))
	if err != nil {
		return reply{body: err.Error()}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{body: err.Error()}
	}
	defer res.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(res.Body); err != nil {
		return reply{body: err.Error()}
	}
	var p struct{ Kind string }
	_ = json.Unmarshal(body.Bytes(), &p) // what is no JSON has no kind
	return reply{res.StatusCode, res.Header.Get("X-Request-Id"), p.Kind, body.String()}
}

// count is how many answers of a status there were so far.
func (l *load) count(status int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, r := range l.replies {
		if r.status == status {
			n++
		}
	}
	return n
}

// more waits for some further answers of a status.
func (l *load) more(t *testing.T, status int) {
	t.Helper()
	before := l.count(status)
	eventually(t, fmt.Sprintf("answer with %d", status), func() error {
		if n := l.count(status); n < before+20 {
			return fmt.Errorf("%d answers", n-before)
		}
		return nil
	})
}

// end stops the load and gives all answers.
func (l *load) end() []reply {
	l.cancel()
	l.done.Wait()
	return l.replies
}

// checkReplies wants each answer to be right, or to say that something is away.
func checkReplies(t *testing.T, replies []reply) {
	t.Helper()
	for _, r := range replies {
		right := r.status == http.StatusOK && strings.Contains(r.body, `"text":"echo"`)
		if !right && r.status != 0 && (r.status != http.StatusServiceUnavailable || r.kind != "unavailable") {
			t.Errorf("an answer is %+v", r)
		}
	}
}

// checkOnRecord wants each call that was answered to have one row of audit and one
// of usage.
func (s *instance) checkOnRecord(t *testing.T, replies []reply) {
	t.Helper()
	eventually(t, "record", func() error {
		var errs []error
		for _, path := range []string{"/v1/admin/audit?action=execute_tool", "/v1/admin/usage"} {
			rows := map[any]int{}
			for _, row := range s.rows(t, path) {
				rows[row["requestId"]]++
			}
			missing, answered := 0, 0
			for _, r := range replies {
				if r.status != http.StatusOK {
					continue
				}
				answered++
				if rows[r.requestID] != 1 {
					missing++
				}
			}
			if missing > 0 || answered == 0 {
				errs = append(errs, fmt.Errorf("%s has not one row for each of %d answers: %d are wrong", path, answered, missing))
			}
		}
		return errors.Join(errs...)
	})
}
