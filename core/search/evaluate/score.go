package evaluate

import "math"

// Scores are means over queries, each 0 to 1. R is the share of the needs that
// the first k met, NDCG has binary gain (a second tool for a need gains nothing),
// MRR goes by the first tool that meets a need, and C5 is the share of queries
// whose every need is met by the first five.
type Scores struct {
	R1     float64 `json:"R@1"`
	R3     float64 `json:"R@3"`
	R5     float64 `json:"R@5"`
	R10    float64 `json:"R@10"`
	MRR    float64 `json:"MRR"`
	NDCG5  float64 `json:"NDCG@5"`
	NDCG10 float64 `json:"NDCG@10"`
	C5     float64 `json:"C@5"`
}

// A metric is one of the scores, under the name that it has in print.
type metric struct {
	name string
	of   func(Scores) float64
}

// compared are the metrics that two runs are compared by.
var compared = []metric{
	{"R@5", func(s Scores) float64 { return s.R5 }},
	{"NDCG@5", func(s Scores) float64 { return s.NDCG5 }},
	{"NDCG@10", func(s Scores) float64 { return s.NDCG10 }},
}

// Score scores the ids found for one query, best first.
func Score(q Query, ranked []string) Scores {
	groups := q.Groups
	if len(groups) == 0 {
		for _, id := range q.Relevant {
			groups = append(groups, []string{id})
		}
	}
	if len(groups) == 0 {
		return Scores{}
	}
	gains := gains(groups, ranked)
	recall := func(k int) float64 { return float64(sum(gains[:min(k, len(gains))])) / float64(len(groups)) }
	s := Scores{R1: recall(1), R3: recall(3), R5: recall(5), R10: recall(10),
		NDCG5: ndcg(gains, 5, len(groups)), NDCG10: ndcg(gains, 10, len(groups))}
	if s.R5 == 1 {
		s.C5 = 1
	}
	for i, gain := range gains {
		if gain == 1 {
			s.MRR = 1 / float64(i+1)
			break
		}
	}
	return s
}

// gains is 1 at each place where a tool meets a need that none before has met.
// One tool meets one need.
func gains(groups [][]string, ranked []string) []int {
	needs := make(map[string][]int) // tool to its groups
	for g, ids := range groups {
		for _, id := range ids {
			needs[id] = append(needs[id], g)
		}
	}
	met, list := make(map[int]bool), make([]int, len(ranked))
	for i, id := range ranked {
		for _, g := range needs[id] {
			if !met[g] {
				met[g], list[i] = true, 1
				break
			}
		}
		delete(needs, id) // a tool that is named twice counts once
	}
	return list
}

func ndcg(gains []int, k, needs int) float64 {
	var got, best float64
	for i, gain := range gains[:min(k, len(gains))] {
		got += float64(gain) / math.Log2(float64(i+2))
	}
	for i := range min(k, needs) {
		best += 1 / math.Log2(float64(i+2))
	}
	return got / best
}

func sum(list []int) int {
	total := 0
	for _, x := range list {
		total += x
	}
	return total
}

// Mean is the mean of the scores of all queries.
func Mean(all []Scores) Scores {
	var m Scores
	for _, s := range all {
		for i, sum := range m.list() {
			*sum += *s.list()[i]
		}
	}
	for _, sum := range m.list() {
		*sum /= float64(max(1, len(all)))
	}
	return m
}

func (s *Scores) list() [8]*float64 {
	return [...]*float64{&s.R1, &s.R3, &s.R5, &s.R10, &s.MRR, &s.NDCG5, &s.NDCG10, &s.C5}
}
