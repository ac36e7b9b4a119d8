package embedded

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxLog is the size at which the log is emptied.
const maxLog = 4 << 20

func (s *Server) logPath() string { return filepath.Join(s.folder.path, "postgres.log") }

// trimLog empties a log that has grown too large. The server appends, so this is safe while it runs.
func (s *Server) trimLog() {
	if info, err := os.Stat(s.logPath()); err == nil && info.Size() > maxLog {
		if err := os.Truncate(s.logPath(), 0); err != nil {
			s.logger.Warn("the log of postgres can't be emptied", "error", err)
		}
	}
}

// lastWords returns the end of what the log holds beyond an offset, ready to be added to an error.
func (s *Server) lastWords(offset int64) string {
	log, err := os.Open(s.logPath())
	if err != nil {
		return ""
	}
	defer log.Close()
	text, err := io.ReadAll(io.NewSectionReader(log, offset, maxLog))
	if err != nil || len(text) == 0 {
		return ""
	}
	return "\n" + lastLines(string(text))
}

// lastLines keeps the last ten lines of a text.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
