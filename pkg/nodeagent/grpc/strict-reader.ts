/** Reads messages of senders that are not trusted. */
import protobuf from 'protobufjs';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Throws TypeError for strings that are not UTF-8, where the usual reader replaces the wrong bytes. */
export class StrictReader extends protobuf.Reader {
  override string(): string {
    return decoder.decode(this.bytes());
  }
}
