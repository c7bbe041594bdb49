/** Packets of the quorum port as Apache's servers send them, byte for byte. */
import { expect, test } from 'vitest'
import { decode, encode } from '../codec.ts'
import {
  encodePacket,
  LearnerInfo,
  packetName,
  packetTypes,
  QuorumAuthPacket,
  quorumAuthMagic,
  quorumAuthStatuses,
  QuorumPacket,
  quorumProtocolVersion,
  readLearnerInfo,
  type PacketName,
} from './quorum.ts'

const unhex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

const samples: [what: string, hex: string, packet: Omit<QuorumPacket, 'type'>, PacketName][] = [
  [
    'the introduction of follower 1',
    '0000000b 0000000000000000 00000014 0000000000000001 00010000 0000000000000000 ffffffff',
    {
      zxid: 0n,
      data: encode(LearnerInfo, {
        serverId: 1n,
        protocolVersion: quorumProtocolVersion,
        configVersion: 0n,
      }),
      authinfo: null,
    },
    'followerInfo',
  ],
  [
    'the leader of epoch 1',
    '00000011 0000000100000000 00000004 00010000 ffffffff',
    { zxid: 0x1_0000_0000n, data: unhex('00010000'), authinfo: null },
    'leaderInfo',
  ],
  [
    'an epoch that was accepted before',
    '00000012 0000000100000010 00000004 ffffffff ffffffff',
    { zxid: 0x1_0000_0010n, data: unhex('ffffffff'), authinfo: null },
    'ackEpoch',
  ],
  [
    'a difference',
    '0000000d 0000000100000014 ffffffff ffffffff',
    { zxid: 0x1_0000_0014n, data: null, authinfo: null },
    'diff',
  ],
  [
    'the end of synchronization',
    '0000000c ffffffffffffffff ffffffff ffffffff',
    { zxid: -1n, data: null, authinfo: null },
    'upToDate',
  ],
  [
    'an acknowledgement',
    '00000003 0000000100000001 ffffffff ffffffff',
    { zxid: 0x1_0000_0001n, data: null, authinfo: null },
    'ack',
  ],
  [
    'a proposal of a session, with its digest',
    `00000002 0000000100000001 00000030
     0100000ce84e0000 00000000 0000000100000001 000001a1ddffab61 fffffff6
     00002710 00000002 0000000051c6d660 ffffffff`,
    {
      zxid: 0x1_0000_0001n,
      data: unhex(`0100000ce84e0000 00000000 0000000100000001 000001a1ddffab61 fffffff6
                   00002710 00000002 0000000051c6d660`),
      authinfo: null,
    },
    'proposal',
  ],
  [
    'the answer to a ping, with one session touched',
    '00000005 000000010000000f 0000000c 0100000ce84e0001 00001770 ffffffff',
    { zxid: 0x1_0000_000fn, data: unhex('0100000ce84e0001 00001770'), authinfo: null },
    'ping',
  ],
  [
    'the answer to a ping, with none: empty, not null',
    '00000005 000000010000000f 00000000 ffffffff',
    { zxid: 0x1_0000_000fn, data: new Uint8Array(0), authinfo: null },
    'ping',
  ],
  [
    'a configuration that makes server 1 the leader',
    '00000009 0000000100000008 00000008 0000000000000001 ffffffff',
    { zxid: 0x1_0000_0008n, data: unhex('0000000000000001'), authinfo: null },
    'commitAndActivate',
  ],
  [
    'a request, with who asks',
    `00000001 ffffffffffffffff 0000003e 0100000ce84e0000 00000001 00000001
     000000022f61 0000000568656c6c6f 00000001 0000001f 00000005776f726c64 00000006616e796f6e65
     00000000 00000001 000000026970 000000093132372e302e302e31`,
    {
      zxid: -1n,
      data: unhex(`0100000ce84e0000 00000001 00000001
        000000022f61 0000000568656c6c6f 00000001 0000001f 00000005776f726c64
        00000006616e796f6e65 00000000`),
      authinfo: [{ scheme: 'ip', id: '127.0.0.1' }],
    },
    'request',
  ],
]

test.each(samples)('%s is written and read as in Apache', (_, hex, packet, name) => {
  const bytes = unhex(hex)
  const written = encodePacket(name, packet.zxid, packet.data, packet.authinfo)
  expect(Buffer.from(written).toString('hex')).toBe(bytes.toString('hex'))
  const read = decode(QuorumPacket, bytes)
  expect(packetName(read.type)).toBe(name)
  expect(encode(QuorumPacket, read)).toEqual(written)
})

test('every packet type has its own number', () => {
  const numbers = Object.values(packetTypes)
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
  expect(packetName(0)).toBeUndefined()
  expect(packetName(20)).toBeUndefined()
})

test('the format of an introduction follows from its length', () => {
  const whole = unhex('0000000000000007 00010000 0000000100000002')
  expect(readLearnerInfo(whole)).toEqual({
    serverId: 7n,
    protocolVersion: 0x10000,
    configVersion: 0x1_0000_0002n,
  })
  expect(readLearnerInfo(whole.subarray(0, 12))).toEqual({
    serverId: 7n,
    protocolVersion: 0x10000,
    configVersion: 0n,
  })
  expect(readLearnerInfo(whole.subarray(0, 8))).toMatchObject({ serverId: 7n, configVersion: 0n })
  expect(readLearnerInfo(whole.subarray(0, 7))).toBeUndefined()
  expect(readLearnerInfo(null)).toBeUndefined()
})

test('authentication begins with its magic number', () => {
  const bytes = encode(QuorumAuthPacket, {
    magic: quorumAuthMagic,
    status: quorumAuthStatuses.error,
    token: null,
  })
  expect(Buffer.from(bytes).toString('hex')).toBe('5f2435013501edccffffffffffffffff')
})
