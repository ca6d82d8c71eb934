import { internalError, StatusError } from '#apimachinery/errors/status.js';

/** 500 as plain text: 1.24's answer where a stage before the endpoint cannot decide about a request. */
export class PlainFailure extends StatusError {
  readonly text: string;

  /** `url`: path and query of the request. */
  constructor(url: string, why: string) {
    super(internalError(why).status);
    const escaped: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
    const text = `Internal Server Error: ${JSON.stringify(url)}: ${why}`;
    this.text = `${text.replace(/[&<>]/g, (char) => escaped[char] ?? char)}\n`;
  }
}
