/** A response of another server, as cached and sent to clients. */
import { decode, encode } from 'dns-packet';
import { flag, headerBytes, recordType, responseCode } from '#dns/message/numbers.js';
import { noRecords, type RecordPlace, type RecordSet, readRecords, type Section } from '#dns/message/records.js';
import type { Content } from '#dns/message/response.js';

/** Longest cache time of positive and negative responses. */
const maxSeconds = { positive: 3600, negative: 1800 };

export class UpstreamAnswer {
  readonly code: number;
  readonly isTruncated: boolean;
  readonly #message: Buffer;
  /** Records before the EDNS option, which concerns only the two servers. */
  readonly #places: readonly RecordPlace[];
  readonly #receivedMs: number;

  private constructor(message: Buffer, places: readonly RecordPlace[], receivedMs: number) {
    const option = places.findIndex(({ type }) => type === recordType.OPT);
    this.#places = option < 0 ? places : places.slice(0, option);
    this.#message = message;
    this.#receivedMs = receivedMs;
    const flags = message.readUInt16BE(2);
    this.code = flags & 0xf;
    this.isTruncated = (flags & flag.truncated) !== 0;
  }

  /** `receivedMs`: monotonic. Undefined for an invalid message. */
  static read(message: Buffer, receivedMs: number): UpstreamAnswer | undefined {
    const places = readRecords(message);
    return places && new UpstreamAnswer(message, places, receivedMs);
  }

  /** Cache time: the shortest TTL of its records, or the zone's negative TTL. */
  get keepSeconds(): number {
    if (this.isTruncated) return 0;
    const answers = this.#places.filter(({ section }) => section === 'answer');
    const isPositive = this.code === responseCode.NOERROR && answers.some(({ type }) => type !== recordType.CNAME);
    if (isPositive) return Math.min(maxSeconds.positive, ...answers.map(({ ttl }) => seconds(ttl)));
    if (this.code !== responseCode.NOERROR && this.code !== responseCode.NXDOMAIN) return 0;
    const soa = this.#places.find(({ section, type }) => section === 'authority' && type === recordType.SOA);
    if (soa === undefined || soa.end - soa.ttlOffset < 26) return 0;
    const minimum = seconds(this.#message.readUInt32BE(soa.end - 4));
    return Math.min(maxSeconds.negative, seconds(soa.ttl), minimum, ...answers.map(({ ttl }) => seconds(ttl)));
  }

  get byteLength(): number {
    return this.#message.length;
  }

  /** The records with decreased TTLs. Compression pointers stay valid, because the question has the same length. */
  content(nowMs: number): Content {
    const bytes = this.#aged(nowMs);
    return {
      code: this.code,
      answers: this.#section(bytes, 'answer'),
      authority: this.#section(bytes, 'authority'),
      additional: this.#section(bytes, 'additional'),
    };
  }

  /**
   * The answers with uncompressed names, for appending to other records. Throws for names that the package cannot read.
   */
  expandedAnswers(nowMs: number): RecordSet {
    const { answers = [] } = decode(this.#aged(nowMs));
    if (answers.length === 0) return noRecords;
    return { bytes: encode({ type: 'response', answers }).subarray(headerBytes), count: answers.length };
  }

  #aged(nowMs: number): Buffer {
    const age = Math.max(0, Math.floor((nowMs - this.#receivedMs) / 1000));
    if (age === 0) return this.#message;
    const bytes = Buffer.from(this.#message);
    for (const { ttl, ttlOffset } of this.#places) bytes.writeUInt32BE(Math.max(0, seconds(ttl) - age), ttlOffset);
    return bytes;
  }

  #section(bytes: Buffer, section: Section): RecordSet {
    const places = this.#places.filter((place) => place.section === section);
    const [first] = places;
    const last = places.at(-1);
    if (first === undefined || last === undefined) return noRecords;
    return { bytes: bytes.subarray(first.start, last.end), count: places.length };
  }
}

/** A TTL with its highest bit set counts as zero (RFC 2181). */
function seconds(ttl: number): number {
  return ttl > 0x7fff_ffff ? 0 : ttl;
}
