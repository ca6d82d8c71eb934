import type { Dialect } from '#apimachinery/dialect.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

/** The node's name for `system:node:<name>` in `system:nodes`, possibly empty; undefined for other users. */
export function nodeOf(user: UserInfo, dialect: Dialect): string | undefined {
  const { nodePrefix } = dialect.users;
  if (!user.name.startsWith(nodePrefix) || !user.groups.includes(dialect.groups.nodes)) return undefined;
  return user.name.slice(nodePrefix.length);
}
