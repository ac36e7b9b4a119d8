package evaluate

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Question is a query of somebody's own, with the line of the file that it is from.
type Question struct {
	Query
	// Tools are names of the relevant tools, for people and for when an id is gone: what
	// counts is Relevant.
	Tools []string `json:"tools,omitempty"`
	Line  int      `json:"-"`
}

// maxLine bounds a line of a file of questions.
const maxLine = 1 << 20

// mostBad is how many bad lines are told of: in a file of another kind all are.
const mostBad = 5

var errMore = errors.New("there is more after it")

// LoadQuestions reads a file with one {query, relevant, groups?} a line. An error
// names the first lines that are not one.
func LoadQuestions(file string) ([]Question, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []Question
	var bad []error
	lines := map[string]int{} // by id
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, maxLine)
	for n := 1; scanner.Scan(); n++ {
		line := bytes.TrimSpace(scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		q := Question{Line: n}
		if err := q.read(line); err != nil {
			bad = append(bad, fmt.Errorf("%s:%d: %w", file, n, err))
		}
		if q.ID == "" {
			q.ID = fmt.Sprintf("line %d", n)
		}
		if first := lines[q.ID]; first > 0 {
			bad = append(bad, fmt.Errorf("%s:%d: the id %q is that of line %d too", file, n, q.ID, first))
		}
		lines[q.ID] = n
		list = append(list, q)
	}
	if err := scanner.Err(); err != nil {
		bad = append(bad, fmt.Errorf("%s: %w", file, err))
	}
	if len(bad) == 0 && len(list) == 0 {
		bad = append(bad, fmt.Errorf("%s: no questions", file))
	}
	if more := len(bad) - mostBad; more > 0 {
		bad = append(bad[:mostBad], fmt.Errorf("%s: %d more like these", file, more))
	}
	return list, errors.Join(bad...)
}

func (q *Question) read(line []byte) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(q); err != nil || d.More() {
		return fmt.Errorf("not {\"query\": \"...\", \"relevant\": [\"tool\", ...]}, with \"id\", \"groups\" and \"tools\" if you like (%w)", cmp.Or(err, errMore))
	}
	if strings.TrimSpace(q.Text) == "" {
		return errors.New(`no "query"`)
	}
	if len(q.Names()) == 0 {
		return errors.New(`no "relevant" tools`)
	}
	return nil
}

// NameOf is the name that the file holds beside an id; "" where it has none, or not one
// for each of the relevant tools, so that it is not known whose they are.
func (q *Question) NameOf(id string) string {
	i := slices.Index(q.Relevant, id)
	if i < 0 || len(q.Tools) != len(q.Relevant) || uuid.Validate(id) != nil {
		return ""
	}
	return q.Tools[i]
}

// Renamed is the question with the tools' ids for their names.
func (q *Question) Renamed(ids map[string]string) Query {
	out := Query{ID: q.ID, Text: q.Text, Relevant: renamed(q.Relevant, ids)}
	for _, g := range q.Groups {
		out.Groups = append(out.Groups, renamed(g, ids))
	}
	return out
}

func renamed(names []string, ids map[string]string) []string {
	var out []string
	for _, n := range names {
		if id := ids[n]; !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Asked is a search that somebody made, and Used a tool that somebody ran: Who is
// the person and the program that acted for them. Text is "" where it was not kept.
type Asked struct {
	Time time.Time
	Who  [2]string
	Text string
}

// Used is a tool that somebody ran.
type Used struct {
	Time   time.Time
	Who    [2]string
	ToolID string
}

// within is how long after a search a call still belongs to it.
const within = 15 * time.Minute

// FromUsage draws questions from what was found and then run: each tool is what the
// last search before it was for, of the same person and program. Of several searches
// with the same words the latest counts. What a search without words was for is no
// question, and not that of the search before either.
func FromUsage(asked []Asked, used []Used) []Query {
	slices.SortFunc(asked, func(a, b Asked) int { return a.Time.Compare(b.Time) })
	slices.SortFunc(used, func(a, b Used) int { return a.Time.Compare(b.Time) })
	last := map[[2]string]int{} // who to their latest search
	tools := make([][]string, len(asked))
	next := 0
	for _, u := range used {
		for ; next < len(asked) && !asked[next].Time.After(u.Time); next++ {
			last[asked[next].Who] = next
		}
		i, searched := last[u.Who]
		if searched && u.Time.Sub(asked[i].Time) <= within && !slices.Contains(tools[i], u.ToolID) {
			tools[i] = append(tools[i], u.ToolID)
		}
	}
	seen := map[string]bool{}
	var list []Query
	for i, a := range slices.Backward(asked) {
		words := strings.ToLower(strings.Join(strings.Fields(a.Text), " "))
		if len(tools[i]) == 0 || words == "" || seen[words] {
			continue
		}
		seen[words] = true
		list = append(list, Query{ID: fmt.Sprintf("usage %d", len(list)+1), Text: a.Text, Relevant: tools[i]})
	}
	return list
}
