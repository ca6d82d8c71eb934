/** Serves `/openapi/v2` and `/openapi/v3…`; documents are made when first asked for and kept until the resources change. */
import { createHash } from 'node:crypto';
import { parseAccept } from '#apimachinery/codec/negotiate.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { notAcceptable, pathNotFound } from '#apimachinery/errors/status.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { RequestContext } from '#apiserver/http/context.js';
import { etagOf, hasEntity } from '#apiserver/http/etag.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { documentV2, documentV3 } from '#apiserver/openapi/documents.js';
import { encodeDocumentV2 } from '#apiserver/openapi/protobuf-v2.js';
import { acceptsGzip } from '#apiserver/representation/respond.js';
import { partsResponse } from '#apiserver/representation/streaming.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export interface OpenApiOptions {
  readonly scheme: Scheme;
  readonly dialect: Dialect;
  readonly resources: ResourceTable;
}

interface Made {
  readonly body: Buffer;
  readonly etag: string;
}

/** What clients ask for; `@` is not allowed in a media type, so the answer is named by the second form. */
const protobufV2 = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const protobufV2Answer = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

export class OpenApi {
  readonly #options: OpenApiOptions;
  readonly #made = new Map<string, Made>();
  #generation = -1;
  #types: string | undefined;

  constructor(options: OpenApiOptions) {
    this.#options = options;
  }

  /** Undefined for other paths. Throws 404 for group versions that are not served. */
  serve(context: RequestContext): ApiResponse | undefined {
    const parts = context.info.path.split('/').filter((part) => part !== '');
    if (parts[0] !== 'openapi') return undefined;
    if (this.#generation !== this.#options.resources.generation) {
      this.#made.clear();
      this.#types = undefined;
      this.#generation = this.#options.resources.generation;
    }
    if (parts[1] === 'v2' && parts.length === 2) return this.#v2(context);
    if (parts[1] !== 'v3') throw pathNotFound();
    if (parts.length === 2) return this.#answer(context, 'application/json', this.#root());
    return this.#v3(context, parts.slice(2).join('/'));
  }

  #v2(context: RequestContext): ApiResponse {
    const { scheme, dialect, resources } = this.#options;
    const options = () => ({ scheme, dialect, resources: resources.all() });
    for (const clause of parseAccept(context.request.headers['accept'] ?? 'application/json')) {
      const media = `${clause.type}/${clause.subtype}`;
      if (media === protobufV2 || media === protobufV2Answer) {
        const made = this.#make('v2.pb', () => encodeDocumentV2(documentV2(options())));
        return this.#answer(context, protobufV2Answer, made);
      }
      if (media === 'application/json' || media === '*/*' || media === 'application/*') {
        return this.#answer(
          context,
          'application/json',
          this.#make('v2', () => json(documentV2(options()))),
        );
      }
    }
    throw notAcceptable(['application/json', protobufV2]);
  }

  #v3(context: RequestContext, name: string): ApiResponse {
    const { scheme, dialect } = this.#options;
    const resources = this.#groupVersions().get(name);
    if (resources === undefined) throw pathNotFound();
    const made = this.#make(name, () => json(documentV3({ scheme, dialect, resources })));
    const response = this.#answer(context, 'application/json', made);
    // The root names each document by its digest, so that one with its digest never changes.
    if (context.info.query.get('hash') === this.#digestOf(name))
      response.headers['cache-control'] = 'public, immutable';
    return response;
  }

  #root(): Made {
    return this.#make('v3', () => {
      const names = [...this.#groupVersions().keys()].sort();
      const links = names.map((name) => [
        name,
        { serverRelativeURL: `/openapi/v3/${name}?hash=${this.#digestOf(name)}` },
      ]);
      return json({ paths: Object.fromEntries(links) });
    });
  }

  /** Of what a document is made of, so that the root needs none of them. */
  #digestOf(name: string): string {
    const { dialect } = this.#options;
    const declarations = (this.#groupVersions().get(name) ?? []).map(({ declaration }) => declaration);
    return digest(JSON.stringify([dialect.name, dialect.version, declarations, this.#typesDigest()]));
  }

  /** A field or a description that differs from one build to the next makes every document another one. */
  #typesDigest(): string {
    const { scheme } = this.#options;
    this.#types ??= digest(
      JSON.stringify(
        scheme.typeNames().map((name) => {
          const { doc, fields } = scheme.type(name);
          return [name, doc, fields.map((field) => ({ ...field, type: field.type?.name }))];
        }),
      ),
    );
    return this.#types;
  }

  /** `api/v1`, `apis/apps/v1` → resources. */
  #groupVersions(): Map<string, ServedResource[]> {
    const groups = new Map<string, ServedResource[]>();
    for (const resource of this.#options.resources.all()) {
      const { version } = resource.declaration;
      const name = resource.group === '' ? `api/${version}` : `apis/${resource.group}/${version}`;
      groups.set(name, [...(groups.get(name) ?? []), resource]);
    }
    return groups;
  }

  #make(name: string, make: () => Buffer): Made {
    const known = this.#made.get(name);
    if (known !== undefined) return known;
    const body = make();
    const made = { body, etag: etagOf(body) };
    this.#made.set(name, made);
    return made;
  }

  #answer(context: RequestContext, contentType: string, { body, etag }: Made): ApiResponse {
    const headers = { etag, vary: 'Accept-Encoding, Accept' };
    if (hasEntity(context.request, etag)) return { status: 304, headers, body: undefined };
    const response = partsResponse([body], contentType, acceptsGzip(context.request));
    Object.assign(response.headers, headers);
    return response;
  }
}

function digest(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('hex').toUpperCase();
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
