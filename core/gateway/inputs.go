package gateway

import "encoding/json"

// The input schemas of the actions. Those of the meta-tools are published, so
// every byte of them is paid for by every client.
var (
	nothingInput = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

	discoverInput = json.RawMessage(`{"type":"object","properties":{` +
		`"query":{"type":"string","minLength":1,"description":"What you want to do, in plain words"},` +
		`"domain":{"type":"string","description":"Only tools of this domain"},` +
		`"top_k":{"type":"integer","minimum":1,"maximum":50,"default":10},` +
		`"min_similarity":{"type":"number","minimum":0,"maximum":1,"default":0,"description":"Least cosine to the query; 0 for no bound"},` +
		`"detail":{"type":"string","enum":["brief","signature","full"],"default":"signature","description":"full adds the whole input schema"}},` +
		`"required":["query"],"additionalProperties":false}`)

	toolIDInput = json.RawMessage(`{"type":"object","properties":{` +
		`"tool_id":{"type":"string","minLength":1,"description":"Id, or a name that only one of your tools has"}},` +
		`"required":["tool_id"],"additionalProperties":false}`)

	executeInput = json.RawMessage(`{"type":"object","properties":{` +
		`"tool_id":{"type":"string","minLength":1,"description":"Id, or a name that only one of your tools has"},` +
		`"tool_name":{"type":"string","description":"For display only"},` +
		`"params":{"type":"object","description":"The tool's arguments, as its signature or schema says"}},` +
		`"required":["tool_id"],"additionalProperties":false}`)

	browseInput = json.RawMessage(`{"type":"object","properties":{` +
		`"domain_id":{"type":"string","minLength":1},` +
		`"cursor":{"type":"string","description":"nextCursor of the page before"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":200,"default":50}},` +
		`"required":["domain_id"],"additionalProperties":false}`)

	listServersInput = json.RawMessage(`{"type":"object","properties":{` +
		`"query":{"type":"string"},` + pageInput + `},"additionalProperties":false}`)

	serverToolsInput = json.RawMessage(`{"type":"object","properties":{` +
		`"server_id":{"type":"string"},` + pageInput + `},"required":["server_id"],"additionalProperties":false}`)

	listToolsInput = json.RawMessage(`{"type":"object","properties":{` +
		`"query":{"type":"string"},"domain":{"type":"string"},"server":{"type":"string"},"trial":{"type":"boolean"},` + pageInput +
		`},"additionalProperties":false}`)

	streamInput = json.RawMessage(`{"type":"object","properties":{` +
		`"types":{"type":"array","maxItems":50,"items":{"type":"string","minLength":1,"maxLength":200}},` +
		`"pattern":{"type":"string","maxLength":1000},"after":{"type":"integer","minimum":0}},"additionalProperties":false}`)

	preferenceInput = json.RawMessage(`{"type":"object","properties":{` +
		`"server_id":{"type":"string"},"enabled":{"type":"boolean"}},"required":["server_id","enabled"],"additionalProperties":false}`)
)

const pageInput = `"cursor":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":200,"default":50}`

// The output schemas of the four meta-tools whose results are ours. They say
// enough to read a result by, and allow for more.
var (
	toolOutput = `{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},` +
		`"description":{"type":"string"},"domain":{"type":"string"},"serverId":{"type":"string"},` +
		`"score":{"type":"number"},"signature":{"type":"string"},"inputSchema":{"type":"object"}},"required":["id","name"]}`

	discoverOutput = json.RawMessage(`{"type":"object","properties":{"tools":{"type":"array","items":` + toolOutput +
		`},"servers":{"type":"object"},"suggestion":{"type":"string"},"degraded":{"type":"string"}},"required":["tools","servers"]}`)

	schemaOutput = json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},` +
		`"title":{"type":"string"},"description":{"type":"string"},"domain":{"type":"string"},"serverId":{"type":"string"},` +
		`"serverName":{"type":"string"},"inputSchema":{"type":"object"},"outputSchema":{"type":"object"},` +
		`"annotations":{"type":"object"},"schemaHash":{"type":"string"}},"required":["id","name","inputSchema"]}`)

	domainsOutput = json.RawMessage(`{"type":"object","properties":{"domains":{"type":"array","items":{"type":"object",` +
		`"properties":{"id":{"type":"string"},"name":{"type":"string"},"description":{"type":"string"},` +
		`"toolCount":{"type":"integer"}},"required":["id","toolCount"]}}},"required":["domains"]}`)

	browseOutput = json.RawMessage(`{"type":"object","properties":{"tools":{"type":"array","items":{"type":"object"}},` +
		`"servers":{"type":"object"},"nextCursor":{"type":"string"}},"required":["tools","servers"]}`)
)
