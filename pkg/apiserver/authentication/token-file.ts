/** Authenticates static tokens: lines of `token,user,uid,"group1,group2"`; the groups are optional. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { TokenAuthenticator } from '#apiserver/authentication/authenticator.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

interface Line {
  /** Digests have equal length, so comparing them reveals nothing about the tokens. */
  readonly digest: Buffer;
  readonly user: UserInfo;
}

export class TokenFileAuthenticator implements TokenAuthenticator {
  readonly #lines: readonly Line[];

  /** `text` is the file's content. Throws RangeError that names the first invalid line. */
  constructor(text: string) {
    this.#lines = text.split(/\r?\n/).flatMap((line, i) => {
      if (line.trim() === '' || line.trimStart().startsWith('#')) return [];
      return [parseLine(line, i + 1)];
    });
  }

  authenticateToken(token: string): Promise<UserInfo | undefined> {
    const digest = digestOf(token);
    let user: UserInfo | undefined;
    // Compare every line, so that the time does not depend on the token's position.
    for (const line of this.#lines) if (timingSafeEqual(line.digest, digest)) user ??= line.user;
    return Promise.resolve(user);
  }
}

function parseLine(line: string, number: number): Line {
  const [token = '', name = '', uid = '', groups = ''] = csvFields(line);
  if (token === '') throw new RangeError(`token file: line ${number} has no token`);
  if (name === '') throw new RangeError(`token file: line ${number} has no user name`);
  const names = groups
    .split(',')
    .map((group) => group.trim())
    .filter((group) => group !== '');
  return {
    digest: digestOf(token),
    user: { name, groups: names, method: 'token-file', ...(uid === '' ? {} : { uid }) },
  };
}

/** RFC 4180 fields, with surrounding blanks removed. */
function csvFields(line: string): string[] {
  const fields: string[] = [];
  for (const match of line.matchAll(/\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(?:,|$)/g)) {
    if (match[0] === '' && match.index === line.length && fields.length > 0) break;
    fields.push((match[1]?.replaceAll('""', '"') ?? match[2] ?? '').trim());
  }
  return fields;
}

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();
