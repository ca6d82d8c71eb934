/** An unwritten object beside those written: what clients see of it must not change. */
import type { ApiServer } from '#apiserver/build/api-server.js';
import type { Draft } from '#test/integration/apiserver/resources/resource-case.js';
import { call } from '#test/integration/apiserver/server.js';

const medias = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

export class Witness {
  readonly #server: Pick<ApiServer, 'handler'>;
  readonly #collection: string;
  readonly #name: string;

  private constructor(server: Pick<ApiServer, 'handler'>, collection: string, name: string) {
    this.#server = server;
    this.#collection = collection;
    this.#name = name;
  }

  /** Undefined if only one such object can exist. */
  static async create(
    server: Pick<ApiServer, 'handler'>,
    collection: string,
    draft: Draft,
    suffix: string,
  ): Promise<Witness | undefined> {
    const name = `${draft.metadata.name}-witness-${suffix}`;
    const body = { ...draft, metadata: { ...draft.metadata, name } };
    const { status } = await call(server, 'POST', collection, { body });
    if (status !== 201) return undefined;
    return new Witness(server, collection, name);
  }

  /** The object as a get, a list and a watch show it. */
  async seen(): Promise<string[]> {
    const path = `${this.#collection}/${this.#name}`;
    const texts: string[] = [];
    for (const accept of medias) texts.push((await call(this.#server, 'GET', path, { headers: { accept } })).text);
    const selected = `${this.#collection}?fieldSelector=metadata.name%3D${this.#name}`;
    const list = (await call(this.#server, 'GET', selected)).json as { readonly items: readonly unknown[] };
    texts.push(JSON.stringify(list.items));
    texts.push(await this.#firstEvent(`${selected}&watch=1&resourceVersion=0`));
    return texts;
  }

  async remove(): Promise<void> {
    await call(this.#server, 'DELETE', `${this.#collection}/${this.#name}?gracePeriodSeconds=0`);
  }

  async #firstEvent(url: string): Promise<string> {
    const stop = new AbortController();
    const { body } = await this.#server.handler({
      method: 'GET',
      url,
      headers: {},
      body: Buffer.alloc(0),
      remoteAddress: '127.0.0.1',
      signal: stop.signal,
    });
    if (body === undefined || Buffer.isBuffer(body)) return '';
    let text = '';
    for await (const chunk of body) {
      text += chunk.toString();
      if (text.includes('\n')) break;
    }
    stop.abort();
    return text;
  }
}
