package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxGarbage bounds what a child may print between two messages before it is given
// up, in bytes: a banner or a stray log line is common, a flood is no MCP server.
const maxGarbage = 1 << 20

// stdio is the stream of messages to and from a child, one per line.
type stdio struct {
	*process
	lines   *bufio.Reader
	limit   int
	queue   []json.RawMessage // the rest of a batch
	garbage int               // bytes since the last message
}

func newStdio(p *process, limit int64) *stdio {
	return &stdio{process: p, lines: bufio.NewReaderSize(p.stdout, 64<<10), limit: int(limit)}
}

// send writes one message; see process.write.
func (s *stdio) send(ctx context.Context, msg jsonrpc.Message, sent *atomic.Bool) error {
	data, err := encode(msg)
	if err != nil {
		return errors.Join(errNotSent, err)
	}
	for i, c := range data { // one line: inside of strings breaks are escaped
		if c == '\n' || c == '\r' {
			data[i] = ' '
		}
	}
	return s.write(ctx, append(data, '\n'), sent)
}

// Read gives the next message. Lines that are none are skipped and remembered.
func (s *stdio) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := s.next()
		var long *tooLong
		switch {
		case errors.As(err, &long):
			if id, ok := long.id(); ok {
				return &jsonrpc.Response{ID: id, Error: tooLarge(int64(s.limit))}, nil
			}
			continue
		case err != nil:
			return nil, s.end(err)
		case line[0] == '[' && json.Unmarshal(line, &s.queue) == nil:
			continue
		}
		msg, err := decode(line)
		if err == nil {
			s.readable()
			return msg, nil
		}
		if resp := s.unreadable(line, err); resp != nil {
			return resp, nil
		}
	}
}

// next gives the next line that looks like a message.
func (s *stdio) next() ([]byte, error) {
	for {
		if len(s.queue) > 0 {
			line := s.queue[0]
			s.queue = s.queue[1:]
			return bytes.TrimSpace(line), nil
		}
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if line[0] == '{' || line[0] == '[' {
			return line, nil
		}
		s.unreadable(line, nil)
		if s.garbage > maxGarbage {
			return nil, lost("prints on stdout what is no MCP message: %s", excerpt(line))
		}
	}
}

// line reads up to the next line feed. The slice is the caller's.
func (s *stdio) line() ([]byte, error) {
	var out []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		if len(out)+len(part) > s.limit {
			return nil, s.skip(append(out, part...), err)
		}
		out = append(out, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) && len(bytes.TrimSpace(out)) > 0 {
			return out, nil
		}
		return out, err
	}
}

// skip reads to the end of a line that is too long, and keeps both ends of it.
func (s *stdio) skip(start []byte, err error) error {
	long := &tooLong{head: start[:min(len(start), 256)]}
	last := start
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = s.lines.ReadSlice('\n')
		last = append(last[max(0, len(last)-256):], part...)
	}
	long.tail = last[max(0, len(last)-256):]
	if err != nil {
		return err
	}
	return long
}

// unreadable remembers a line that cannot be decoded. If it was the answer to one
// request, that request fails and the session goes on.
func (s *stdio) unreadable(line []byte, err error) *jsonrpc.Response {
	s.garbage += len(line)
	s.notes.note("it printed on stdout what is no MCP message: " + excerpt(line))
	id, ok := findID(line)
	if err == nil || !ok {
		return nil
	}
	return &jsonrpc.Response{ID: id, Error: faultf(stageCall, "sent an answer that cannot be read").because(err)}
}

// readable forgets what was skipped: the child does speak MCP.
func (s *stdio) readable() {
	if s.garbage > 0 {
		s.garbage = 0
		s.notes.note("")
	}
}

// end says why there is no further message.
func (s *stdio) end(err error) error {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	select { // so that its status and last words are known
	case <-s.exited:
	case <-time.After(terminateAfter):
	}
	if text := s.notes.String(); text != "" {
		return lost("ended the session: %s", text).because(err)
	}
	return lost("closed its output").because(err)
}

// Close ends the child.
func (s *stdio) Close() error {
	s.stop()
	return s.stdout.Close()
}

// tooLong stands for a line that was not kept.
type tooLong struct {
	head, tail []byte
}

func (e *tooLong) Error() string { return "line too long" }

// id finds which request the line answers.
func (e *tooLong) id() (jsonrpc.ID, bool) {
	if id, ok := findID(e.head); ok {
		return id, true
	}
	return findID(e.tail)
}

// tooLarge is the fault of an answer that is not taken for its size.
func tooLarge(limit int64) *fault {
	return faultf(stageCall, "sent an answer larger than the %d bytes allowed", limit)
}

// ourID finds a request id of ours; they all have ten digits.
var ourID = regexp.MustCompile(`"id"\s*:\s*(1[0-9]{9})\b`)

func findID(text []byte) (jsonrpc.ID, bool) {
	m := ourID.FindSubmatch(text)
	if m == nil {
		return jsonrpc.ID{}, false
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.MakeID(n)
	return id, err == nil
}

// excerpt quotes the beginning of a line.
func excerpt(line []byte) string {
	const most = 120
	if len(line) > most {
		return strconv.Quote(string(bytes.ToValidUTF8(line[:most], nil)) + "…")
	}
	return strconv.Quote(string(line))
}
