package enrich

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// config is the configuration; the schema says what its members mean.
type config struct {
	BaseURL         string   `json:"base_url"`
	APIKey          string   `json:"api_key"`
	Model           string   `json:"model"`
	Triggers        []string `json:"triggers"`
	OnErrorOnly     bool     `json:"on_error_only"`
	Prompt          string   `json:"prompt"`
	MaxInputBytes   int      `json:"max_input_bytes"`
	MaxOutputTokens int      `json:"max_output_tokens"`
	MaxTokensField  string   `json:"max_tokens_field"`
	Temperature     *float64 `json:"temperature"`
	InputPrice      float64  `json:"input_price"`
	OutputPrice     float64  `json:"output_price"`
	MaxCostPerHour  float64  `json:"max_cost_per_hour"`
	MaxCostPerDay   float64  `json:"max_cost_per_day"`
}

const defaultPrompt = `A tool was called. Say in a few sentences what its result means, and if something went wrong, what to try next.

Tool: {{tool}} of {{server}}
Arguments:
{{args}}
Result:
{{result}}`

func parse(raw json.RawMessage) (config, error) {
	c := config{Prompt: defaultPrompt, MaxInputBytes: 16 << 10, MaxOutputTokens: 300, MaxTokensField: "max_tokens"}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, core.Errorf(core.InvalidParams, "the configuration of llm_enrich is not valid").Because(err)
	}
	return c, nil
}

// compile makes ready what the configuration says, and gives what is wrong with it
// that the schema cannot say.
func (h *hook) compile() (faults []core.Fault) {
	add := func(pointer, message string) {
		if message != "" {
			faults = append(faults, core.Fault{Pointer: pointer, Message: message})
		}
	}
	c := &h.config
	add("/base_url", checkURL(c.BaseURL))
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		add("/api_key", "holds characters that a header cannot carry")
	}
	var fault []core.Fault
	h.triggers, fault = compile(c.Triggers)
	faults = append(faults, fault...)
	var message string
	h.prompt, message = template(c.Prompt)
	add("/prompt", message)
	if c.InputPrice == 0 && c.OutputPrice == 0 {
		const message = "needs input_price or output_price"
		if c.MaxCostPerHour > 0 {
			add("/max_cost_per_hour", message)
		}
		if c.MaxCostPerDay > 0 {
			add("/max_cost_per_day", message)
		}
	}
	return faults
}

// checkURL says what is wrong with the address of an API, "" if nothing.
func checkURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must begin with http:// or https://"
	case u.Hostname() == "":
		return "must name a host"
	case u.User != nil:
		return "must not hold credentials: put them into api_key"
	case u.Fragment != "" || u.RawQuery != "":
		return "must not have a query or a fragment"
	}
	return ""
}
