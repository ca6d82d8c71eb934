/** The body of a watch with faults: late events, lost bookmarks, an early end. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import { encodeEnvelope } from '#apimachinery/codec/protobuf/envelope.js';
import { tag, wire } from '#apimachinery/codec/protobuf/writer.js';
import { encodeWatchFrame } from '#apimachinery/codec/watch-event-frames.js';
import { expired } from '#apimachinery/errors/status.js';
import { type BodySink, SourceBody } from '#http/server/body.js';
import { type EventFormat, EventSplitter } from '#testcluster/faults/event-splitter.js';
import type { WatchFaults } from '#testcluster/faults/rules.js';

/** Most bytes of late events; the watch ends early with more. */
const maxLateBytes = 16 * 1024 * 1024;
const tooOld = 'too old resource version: the watch was ended by a fault';

export class FaultyWatchBody extends SourceBody implements BodySink {
  readonly #inner: SourceBody;
  readonly #faults: WatchFaults;
  readonly #format: EventFormat;
  readonly #clock: Clock;
  readonly #events: EventSplitter;
  readonly #timers = new Set<Timer>();
  #sink: BodySink | undefined;
  #sent = 0;
  #lateBytes = 0;

  constructor(inner: SourceBody, options: { faults: WatchFaults; format: EventFormat; clock: Clock }) {
    super();
    this.#inner = inner;
    this.#faults = options.faults;
    this.#format = options.format;
    this.#clock = options.clock;
    this.#events = new EventSplitter(options.format);
    // The accounts of the original, such as metrics of open watches, end with this body.
    this.onEnd(() => inner.over());
  }

  start(sink: BodySink): void {
    this.#sink = sink;
    const { cutAfterEvents, cutAfterMs, expired: isExpired } = this.#faults;
    if (cutAfterMs !== undefined) this.#postpone(() => this.#cut(), cutAfterMs);
    if (cutAfterEvents === 0 || (isExpired && cutAfterEvents === undefined && cutAfterMs === undefined)) this.#cut();
    else this.#inner.start(this);
  }

  resume(): void {
    if (this.#sink !== undefined) this.#inner.resume();
  }

  stop(): void {
    this.#sink = undefined;
    this.#cancel();
    this.#inner.stop();
  }

  /** Called by the original body. */
  part(bytes: Buffer): boolean {
    let goesOn = this.#sink !== undefined;
    for (const { bytes: event, isBookmark } of this.#events.push(bytes)) {
      if (isBookmark && this.#faults.dropBookmarks) continue;
      this.#sent += 1;
      const isLast = this.#sent === this.#faults.cutAfterEvents;
      if (this.#faults.delayMs > 0) this.#sendLate(event, isLast);
      else if (this.#sink?.part(event) === false) goesOn = false;
      if (!isLast) continue;
      if (this.#faults.delayMs === 0) this.#cut();
      return false;
    }
    return goesOn && this.#sink !== undefined;
  }

  /** Called by the original body. */
  ended(failure?: { readonly error: unknown }): void {
    const { delayMs } = this.#faults;
    if (delayMs > 0) this.#postpone(() => this.#end(failure), delayMs);
    else this.#end(failure);
  }

  #sendLate(event: Buffer, isLast: boolean): void {
    this.#lateBytes += event.length;
    if (this.#lateBytes > maxLateBytes) {
      this.#cut();
      return;
    }
    this.#postpone(() => {
      this.#lateBytes -= event.length;
      // Late events are few and small; the sink buffers them when it asks to pause.
      this.#sink?.part(event);
      if (isLast) this.#cut();
    }, this.#faults.delayMs);
  }

  /** Ends the watch as a lost connection, or by an event that says that its version is too old. */
  #cut(): void {
    if (this.#sink === undefined) return;
    if (this.#faults.expired) this.#sink.part(expiredEvent(this.#format));
    this.#inner.stop();
    this.#end();
  }

  #end(failure?: { readonly error: unknown }): void {
    const sink = this.#sink;
    this.#sink = undefined;
    this.#cancel();
    sink?.ended(failure);
  }

  #postpone(work: () => void, ms: number): void {
    const timer = this.#clock.setTimer(() => {
      this.#timers.delete(timer);
      work();
    }, ms);
    this.#timers.add(timer);
  }

  #cancel(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}

function expiredEvent(format: EventFormat): Buffer {
  const { status } = expired(tooOld);
  const object = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...status };
  if (format === 'json') return Buffer.from(`${JSON.stringify({ type: 'ERROR', object })}\n`);
  const bytes = encodeEnvelope('v1', 'Status', (writer) => {
    // From the last field to the first.
    writer.varint(410);
    writer.varint(tag(6, wire.varint));
    for (const [field, text] of [
      [4, 'Expired'],
      [3, tooOld],
      [2, 'Failure'],
    ] as const) {
      const before = writer.length;
      writer.string(text);
      writer.varint(writer.length - before);
      writer.varint(tag(field, wire.delimited));
    }
  });
  return encodeWatchFrame('ERROR', bytes);
}
