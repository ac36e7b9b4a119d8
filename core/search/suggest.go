package search

import (
	"fmt"
	"slices"
	"strings"
)

const suggestNoKnownWord = "No word of the query is known here. Say in plain words what is to be done and to what, " +
	"for example \"list open pull requests\", or look at list_tool_domains."

func suggestNothingVisible(domain string) string {
	if domain == "" {
		return "There are no tools that you may use. Ask an administrator, or switch a server on."
	}
	return fmt.Sprintf("There are no tools that you may use in the domain %q. Leave the domain out, or look at list_tool_domains.", domain)
}

// suggestion says what to do where even the best of the answer fits badly.
func (s *search) suggestion(ranked []*candidate) string {
	if len(ranked) == 0 {
		return "No tool is as similar as min_similarity asks. Lower it, or leave it out."
	}
	if ranked[0].likely >= unlikely {
		return ""
	}
	text := "Nothing here fits the query well."
	if near := s.domains(ranked); len(near) > 0 {
		text += " The nearest tools are in the domains " + strings.Join(near, ", ") + " (see browse_tool_domain)."
	}
	return text + " Try other words: name the action and the object, one need at a time."
}

// domains names those of the best hits, the best first.
func (s *search) domains(ranked []*candidate) []string {
	var list []string
	for _, c := range ranked[:min(judged, len(ranked))] {
		if s.words == nil {
			break
		}
		d := s.words.index.domain(c.id)
		if d != "" && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}
