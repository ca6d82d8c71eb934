/** A key management plugin for tests, over real gRPC: it encrypts with AES-GCM and a key that it never shows. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import protobuf from 'protobufjs';

const root = protobuf.parse(`
  syntax = "proto3";
  package v1beta1;
  message VersionRequest { string version = 1; }
  message VersionResponse { string version = 1; string runtime_name = 2; string runtime_version = 3; }
  message DecryptRequest { string version = 1; bytes cipher = 2; }
  message DecryptResponse { bytes plain = 1; }
  message EncryptRequest { string version = 1; bytes plain = 2; }
  message EncryptResponse { bytes cipher = 1; }
`).root;

type Method = 'Version' | 'Encrypt' | 'Decrypt';
interface Message {
  readonly version?: string;
  readonly plain?: ArrayLike<number>;
  readonly cipher?: ArrayLike<number>;
}

/** What a plugin refuses a call with. */
export interface Refusal {
  readonly code: status;
  readonly details: string;
}

const nonceBytes = 12;
const tagBytes = 16;

export class KmsPlugin {
  readonly socket: string;
  /** Calls so far. */
  readonly calls: Record<Method, number> = { Version: 0, Encrypt: 0, Decrypt: 0 };
  /** Calls at the same time, at most. */
  mostAtOnce = 0;
  version = 'v1beta1';
  /** Refuses calls; undefined: answers. */
  refuse: ((method: Method) => Refusal | undefined) | undefined;
  /** Delays answers. */
  before: () => Promise<void> = () => Promise.resolve();
  readonly #key: Buffer;
  #server: Server | undefined;
  #atOnce = 0;

  /** Another plugin with the same key can decrypt. */
  constructor(socket: string, key: Buffer = randomBytes(32)) {
    this.socket = socket;
    this.#key = key;
  }

  async start(): Promise<void> {
    const server = new Server();
    server.addService(
      {
        Version: definition('Version'),
        Encrypt: definition('Encrypt'),
        Decrypt: definition('Decrypt'),
      },
      {
        Version: this.#handler('Version', () => ({ version: this.version, runtimeName: 'test' })),
        Encrypt: this.#handler('Encrypt', ({ plain = [] }) => ({ cipher: this.#encrypt(Buffer.from(plain)) })),
        Decrypt: this.#handler('Decrypt', ({ cipher = [] }) => ({ plain: this.#decrypt(Buffer.from(cipher)) })),
      },
    );
    await new Promise<void>((resolve, reject) => {
      const address = `unix:${this.socket.replace(/^@/, '\0')}`;
      server.bindAsync(address, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve()));
    });
    this.#server = server;
  }

  stop(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }

  #handler(method: Method, answer: (request: Message) => object) {
    return async ({ request }: ServerUnaryCall<Message, object>, respond: sendUnaryData<object>): Promise<void> => {
      this.calls[method] += 1;
      this.#atOnce += 1;
      this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
      await this.before();
      this.#atOnce -= 1;
      const refusal = this.refuse?.(method);
      if (refusal !== undefined) return respond(refusal);
      if (request.version !== 'v1beta1') return respond({ code: status.INVALID_ARGUMENT, details: 'version' });
      try {
        respond(null, answer(request));
      } catch {
        respond({ code: status.UNKNOWN, details: 'cannot decrypt' });
      }
    };
  }

  #encrypt(plain: Buffer): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }

  #decrypt(bytes: Buffer): Buffer {
    const cipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, nonceBytes));
    cipher.setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([cipher.update(bytes.subarray(nonceBytes, -tagBytes)), cipher.final()]);
  }
}

function definition(method: Method) {
  const request = root.lookupType(`v1beta1.${method}Request`);
  const response = root.lookupType(`v1beta1.${method}Response`);
  return {
    path: `/v1beta1.KeyManagementService/${method}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (value: object) => Buffer.from(request.encode(value).finish()),
    requestDeserialize: (bytes: Buffer) => request.decode(bytes) as Message,
    responseSerialize: (value: object) => Buffer.from(response.encode(value).finish()),
    responseDeserialize: (bytes: Buffer) => response.decode(bytes),
  };
}
