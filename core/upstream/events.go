package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// errEventTooLarge ends a stream whose event exceeds the limit.
var errEventTooLarge = errors.New("event too large")

// event is a server-sent event.
type event struct {
	id    string
	data  []byte
	retry time.Duration // 0 when the event sets none
}

// events reads server-sent events (WHATWG HTML, section 9.2.6).
type events struct {
	r     *bufio.Reader
	limit int
}

func newEvents(r io.Reader, limit int64) *events {
	return &events{r: bufio.NewReader(r), limit: int(limit)}
}

// next gives the next event that holds data or an id. The end of the stream in the
// middle of an event drops that event, as the standard says.
func (e *events) next() (event, error) {
	var ev event
	var hasData bool
	size := 0
	for {
		line, err := e.line(&size)
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if hasData || ev.id != "" || ev.retry > 0 {
				return ev, nil
			}
			size = 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if hasData {
				ev.data = append(ev.data, '\n')
			}
			ev.data = append(ev.data, value...)
			hasData = true
		case "id":
			ev.id = string(value)
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil && ms >= 0 {
				ev.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line reads a line without its end. size counts what the event has taken.
func (e *events) line(size *int) ([]byte, error) {
	var long []byte
	for {
		part, err := e.r.ReadSlice('\n')
		if *size += len(part); *size > e.limit {
			return nil, errEventTooLarge
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		if err != nil {
			return nil, err
		}
		if long != nil {
			part = append(long, part...)
		}
		return bytes.TrimRight(part, "\r\n"), nil
	}
}
