/** The dictionary that primes header compression: section 2.6.10.1 of the SPDY/3 draft. */

/** Words that the dictionary holds with a 32-bit length in front. */
const words =
  `options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age
allow authorization cache-control connection content-base content-encoding content-language content-length
content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since
if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate
proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning
www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin`
    .split(/\s+/)
    .map((word) => word.replace('_', ' '));

/** Status codes and values that follow without lengths. */
const tail = [
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505',
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized',
  '403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable',
  'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT',
  'chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,',
  'publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.',
].join('');

/** 1423 bytes with Adler-32 `e3c6a7c2`. */
export const spdyDictionary: Buffer = Buffer.concat([
  ...words.map((word) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(word.length);
    return Buffer.concat([length, Buffer.from(word)]);
  }),
  Buffer.from(tail),
]);

/** What a zlib stream primed with the dictionary starts with: the header with FDICT set, and its checksum. */
export const zlibHeader: Buffer = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);
