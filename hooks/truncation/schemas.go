package truncation

import (
	"encoding/json"

	"github.com/toolscout/toolscout/core"
)

type schemas struct{}

func newSchemas() *schemas { return &schemas{} }

func (*schemas) of(tool *core.Tool) func(json.RawMessage) bool {
	return func(json.RawMessage) bool { return tool == nil || len(tool.OutputSchema) == 0 }
}
