package evaluate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// What made-up tools are put together from. A word and how people ask for it.
type word struct {
	name   string
	spoken []string
}

var verbs = []word{
	{"list", []string{"show me all", "which are the", "give me an overview of the"}},
	{"get", []string{"look up the details of the", "fetch the", "what is in the"}},
	{"create", []string{"add a new", "make a", "set up another"}},
	{"update", []string{"change the", "edit the", "correct the"}},
	{"delete", []string{"get rid of the", "remove the", "throw away the"}},
	{"search", []string{"find the", "look for a", "where is the"}},
	{"export", []string{"save a copy of the", "download the", "write to a file the"}},
	{"share", []string{"let a colleague see the", "send somebody the", "give access to the"}},
	{"archive", []string{"put away the old", "store for later the", "keep but hide the"}},
	{"count", []string{"how many are there of the", "tell me the number of the", "what is the total of the"}},
}

var products = []struct {
	name, does string
	objects    []word
}{
	{"repo-hub", "hosts source code", []word{{"issue", []string{"bug report", "ticket"}}, {"pull_request", []string{"proposed change", "merge request"}}, {"branch", []string{"line of development", "branch"}}, {"release", []string{"published version", "release"}}}},
	{"team-chat", "lets teams talk", []word{{"message", []string{"chat message", "note to the team"}}, {"channel", []string{"chat room", "channel"}}, {"reaction", []string{"emoji reaction", "thumbs up"}}}},
	{"calendar", "plans meetings", []word{{"event", []string{"appointment", "meeting"}}, {"reminder", []string{"alarm", "reminder"}}, {"room", []string{"meeting room", "conference room"}}}},
	{"mailbox", "sends and keeps mail", []word{{"email", []string{"mail", "letter in my inbox"}}, {"draft", []string{"unsent mail", "draft"}}, {"attachment", []string{"attached file", "attachment"}}}},
	{"file-store", "keeps files", []word{{"file", []string{"document", "file on the drive"}}, {"folder", []string{"directory", "folder"}}, {"link", []string{"public link", "link to a document"}}}},
	{"shop", "sells goods", []word{{"order", []string{"purchase", "order"}}, {"product", []string{"article for sale", "item in the shop"}}, {"refund", []string{"money back", "refund"}}, {"coupon", []string{"discount code", "voucher"}}}},
	{"weather", "knows the weather", []word{{"forecast", []string{"weather of tomorrow", "forecast"}}, {"station", []string{"weather station", "measuring point"}}}},
	{"maps", "finds ways", []word{{"route", []string{"way to drive", "route"}}, {"place", []string{"restaurant nearby", "address"}}}},
	{"database", "keeps tables", []word{{"table", []string{"database table", "table"}}, {"row", []string{"record", "row in a table"}}, {"backup", []string{"database copy", "backup"}}}},
	{"music", "plays music", []word{{"playlist", []string{"list of songs", "mix tape"}}, {"song", []string{"track", "piece of music"}}}},
	{"hr-desk", "looks after staff", []word{{"employee", []string{"member of staff", "colleague"}}, {"vacation", []string{"holiday request", "time off"}}, {"payslip", []string{"salary statement", "payslip"}}}},
	{"cloud-ops", "runs machines", []word{{"server", []string{"virtual machine", "server"}}, {"log", []string{"log line", "trace"}}, {"alert", []string{"alarm of the monitoring", "alert"}}}},
}

var companies = []string{"acme", "bluebird", "cobalt", "dune", "ember", "fjord", "granite", "harbor", "indigo", "juniper",
	"kestrel", "lagoon", "meadow", "nimbus", "orchid", "pioneer", "quartz", "raven", "summit", "tundra"}

// Generate makes up a set of n tools that is the same for the same seed. Its
// queries ask in other words for tools whose verb, object and owner they were made
// from, so the labels are right by construction.
func Generate(n int, seed uint64) Set {
	random := rand.New(rand.NewPCG(seed, 0))
	set := Set{Name: "generated"}
	for copies := 0; len(set.Tools) < n; copies++ {
		owner := companies[copies%len(companies)]
		if copies >= len(companies) {
			owner = fmt.Sprintf("%s %d", owner, copies/len(companies))
		}
		set.add(owner, n, random)
	}
	return set
}

// add adds the tools of one owner, and a query for one in ten of them.
func (s *Set) add(owner string, n int, random *rand.Rand) {
	for _, p := range products {
		server := owner + " " + p.name
		for _, object := range p.objects {
			for _, verb := range verbs {
				if len(s.Tools) == n {
					return
				}
				t := made(server, p.does, owner, verb, object, random.IntN(3))
				s.Tools = append(s.Tools, t)
				if random.IntN(10) == 0 {
					s.Queries = append(s.Queries, Query{ID: fmt.Sprintf("q%d", len(s.Queries)), Relevant: []string{t.ID},
						Text: fmt.Sprintf("%s %s at %s", pick(random, verb.spoken), pick(random, object.spoken), owner)})
				}
			}
		}
	}
}

func pick(random *rand.Rand, list []string) string { return list[random.IntN(len(list))] }

func made(server, does, owner string, verb, object word, style int) Tool {
	noun := strings.ReplaceAll(object.name, "_", " ")
	name := verb.name + "_" + object.name
	switch style {
	case 1:
		name = strings.ReplaceAll(name, "_", "-")
	case 2:
		name = camel(name)
	}
	schema := fmt.Sprintf(`{"type":"object","properties":{"%s_id":{"type":"string","description":"Which %s"},`+
		`"limit":{"type":"integer","description":"How many at most"}},"required":["%s_id"]}`, object.name, noun, object.name)
	return Tool{ID: server + "/" + name, Name: name, Server: server, InputSchema: json.RawMessage(schema),
		Description: fmt.Sprintf("%s a %s of %s. This service %s.", strings.ToUpper(verb.name[:1])+verb.name[1:], noun, owner, does)}
}

func camel(name string) string {
	parts := strings.Split(name, "_")
	for i, p := range parts[1:] {
		parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}

// Grow makes n tools of a few real ones: the first are the real ones, the others
// have the name and schema of one, half the description of another, and a copy of
// the first one's server. The same rows give the same tools.
func Grow(tools []Tool, n int) []Tool {
	if len(tools) == 0 || n <= len(tools) {
		return tools[:min(n, len(tools))]
	}
	random := rand.New(rand.NewPCG(1, 1))
	grown := append(make([]Tool, 0, n), tools...)
	for i := len(tools); i < n; i++ {
		t, other := tools[i%len(tools)], tools[random.IntN(len(tools))]
		copies := i / len(tools)
		t.ID = fmt.Sprintf("%s#%d", t.ID, copies)
		t.Description = half(t.Description, 0) + " " + half(other.Description, 1)
		t.Server = fmt.Sprintf("%s %d", t.Server, copies)
		grown = append(grown, t)
	}
	return grown
}

// half gives the first or second half of a text, by words.
func half(text string, which int) string {
	fields := strings.Fields(text)
	middle := (len(fields) + 1) / 2
	if which == 0 {
		return strings.Join(fields[:middle], " ")
	}
	return strings.Join(fields[middle:], " ")
}
