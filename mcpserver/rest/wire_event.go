package rest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/events"
)

// CloudEvent is an event as CloudEvents 1.0 has it in JSON, with two attributes of
// our own.
type CloudEvent struct {
	SpecVersion     string          `json:"specversion" doc:"1.0" example:"1.0"`
	ID              string          `json:"id" doc:"Its number, the same as the message's id; higher ones are later." example:"4711"`
	Source          string          `json:"source" format:"uri-reference" doc:"Whose numbers these are: one database has one source." example:"urn:uuid:6f1e52a0-6a3f-4b1c-9d2b-0c1f5f3f9d11"`
	Type            string          `json:"type" doc:"What happened." example:"tool:after"`
	Time            time.Time       `json:"time" format:"date-time" doc:"When it was published."`
	Subject         string          `json:"subject,omitempty" doc:"What it happened to: the name of a tool, a server or a hook."`
	DataContentType string          `json:"datacontenttype" doc:"The type of data." example:"application/json"`
	UserID          string          `json:"userid,omitempty" doc:"Whose event it is."`
	ServerID        string          `json:"serverid,omitempty" doc:"Which server it is about."`
	Data            json.RawMessage `json:"data" doc:"More, depending on type."`
}

// The types of messages that are about the stream itself.
const (
	eventMissed = "events:missed"
	eventClosed = "events:closed"
)

// missed tells of a gap in the stream, which goes on after position.
func (o *eventWriter) missed(gap events.Gap, position int64) {
	fmt.Fprintf(&o.buffer, "id: %d\n", position)
	o.message(CloudEvent{ID: fmt.Sprintf("missed-%d-%d", gap.After, gap.Until), Type: eventMissed, Time: time.Now()}, map[string]any{
		"after": gap.After, "until": gap.Until, "reason": gap.Reason})
}

// end says why the stream ends, as the last thing. The client goes on from the last
// event before it.
func (o *eventWriter) end(err error) {
	reason := core.Public(err)
	o.message(CloudEvent{ID: "closed-" + o.id, Type: eventClosed, Time: time.Now()}, map[string]any{
		"kind": reason.Kind, "message": reason.Message, "hint": reason.Hint})
	o.allow(closing)
	_, _ = o.ResponseWriter.Write(o.buffer.Bytes())
	_ = o.control.Flush() // a client that is gone needs no reason
}
