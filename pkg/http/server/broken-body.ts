/** A response that is never sent: the connection breaks off without it. For faults in tests. */
import { type BodySink, SourceBody } from '#http/server/body.js';

export class BrokenBody extends SourceBody {
  /** For readers in this process; the server drops the connection instead. */
  start(sink: BodySink): void {
    sink.ended({ error: new Error('the connection was reset') });
  }

  resume(): void {
    // There is nothing to continue.
  }

  stop(): void {
    // There is nothing to stop.
  }
}
