package embeddings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// protocol is how one kind of service is spoken to.
type protocol struct {
	base    string // default base URL
	path    string
	request func(model string, texts []string) any
	vectors func(body []byte) ([][]float32, error)
}

var protocols = map[string]protocol{
	OpenAI: {"https://api.openai.com/v1", "embeddings", openAIRequest, openAIVectors},
	Ollama: {"http://127.0.0.1:11434", "api/embed", ollamaRequest, ollamaVectors},
}

func openAIRequest(model string, texts []string) any {
	return struct {
		Model          string   `json:"model"`
		Input          []string `json:"input"`
		EncodingFormat string   `json:"encoding_format"`
	}{model, texts, "float"}
}

// openAIVectors puts the answer in the order of its indices.
func openAIVectors(body []byte) ([][]float32, error) {
	var answer struct {
		Data []struct {
			Index     int    `json:"index"`
			Embedding vector `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(answer.Data))
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= len(vectors) || vectors[d.Index] != nil {
			return nil, fmt.Errorf("index %d is out of place among %d vectors", d.Index, len(vectors))
		}
		vectors[d.Index] = d.Embedding
	}
	return vectors, nil
}

func ollamaRequest(model string, texts []string) any {
	return struct {
		Model    string   `json:"model"`
		Input    []string `json:"input"`
		Truncate bool     `json:"truncate"`
	}{model, texts, true}
}

func ollamaVectors(body []byte) ([][]float32, error) {
	var answer struct {
		Embeddings []vector `json:"embeddings"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(answer.Embeddings))
	for i, v := range answer.Embeddings {
		vectors[i] = v
	}
	return vectors, nil
}

// vector is an array of numbers. encoding/json reads null, which some servers
// write for NaN, as 0: here it is an error, as is a number beyond a float32.
type vector []float32

func (v *vector) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) < 2 || data[0] != '[' {
		return errors.New("a vector is not an array")
	}
	list := bytes.TrimSpace(data[1 : len(data)-1])
	*v = make(vector, 0, bytes.Count(list, []byte{','})+1)
	for i := 0; len(list) > 0; i++ {
		number, rest, _ := bytes.Cut(list, []byte{','})
		x, err := strconv.ParseFloat(string(bytes.TrimSpace(number)), 32)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return fmt.Errorf("number %d of a vector is not finite: %.20q", i, number)
		}
		*v = append(*v, float32(x))
		list = rest
	}
	return nil
}

// normalise makes v a unit vector, unless it is zero.
func normalise(v []float32) {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if square == 0 {
		return
	}
	f := 1 / math.Sqrt(square)
	for i := range v {
		v[i] = float32(float64(v[i]) * f)
	}
}
