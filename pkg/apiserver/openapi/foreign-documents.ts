/** Documents of servers that serve some group versions in place of this one. */
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { PathDocument, SchemaDocument } from '#apiserver/openapi/model.js';

/** A document of version 3. */
export interface ForeignVersion {
  /** `apis/wardle.example.com/v1alpha1`. */
  readonly name: string;
  /** Another one whenever the document is; empty where that is not known: nobody keeps it for good then. */
  readonly hash: string;
  /** Answers a request for it. */
  serve(context: RequestContext): Promise<ApiResponse>;
}

/** What one server adds to the document of version 2. Immutable: what changes is another object. */
export interface ForeignPart {
  /** Another one whenever the part is. */
  readonly hash: string;
  readonly paths: Readonly<Record<string, PathDocument>>;
  /** Those whose names are taken get others: `NAME_v2`. */
  readonly definitions: Readonly<Record<string, SchemaDocument>>;
}

export interface ForeignDocuments {
  /** Grows whenever the others tell something else than before. */
  readonly generation: number;
  /** In place of those of this server with the same names. */
  versions(): Iterable<ForeignVersion>;
  parts(): Iterable<ForeignPart>;
}
