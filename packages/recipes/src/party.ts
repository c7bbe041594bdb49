import { text, type CallOptions, type Client } from '@zabra/client'
import { checkPath, makeGuid } from '@zabra/client/internal'
import { Group, type Membership } from './group.ts'
import { mapLive, type Live } from './live/live.ts'

/** The suffix after the guid of a member, as in kazoo. */
const mark = '__party__'

/**
 * Shows who is present, by ids that need not be unique: the same program may be present several times.
 * The layout is that of kazoo's Party, so that Python programs and these see each other.
 *
 *     const party = new Party(client, '/workers')
 *     await using present = await party.join('host-17')
 *     await using guests = await party.watch()
 *     console.log(guests.current) // ['host-17']
 */
export class Party {
  private readonly client: Client
  private readonly path: string

  constructor(client: Client, path: string) {
    this.client = client
    this.path = checkPath(path)
  }

  /**
   * Joins until released, also in later sessions.
   *
   *     await using present = await party.join('host-17')
   */
  join(
    id: string = this.client.host.processName ?? '',
    options: CallOptions = {},
  ): Promise<Membership<string>> {
    const { client, path } = this
    const guid = makeGuid(() => client.host.random()).replaceAll('-', '')
    return new Group(client, path, { codec: text }).join(id, { ...options, name: `${guid}${mark}` })
  }

  /**
   * The ids of the members, sorted, kept up to date until it is closed.
   *
   *     await using guests = await party.watch()
   *     guests.onChange((ids) => console.log(ids))
   */
  async watch(options: CallOptions = {}): Promise<Live<readonly string[]>> {
    const members = await new Group(this.client, this.path, { codec: text }).watch(options)
    return mapLive(this.client, members, (all) =>
      [...all.values()]
        .filter(({ name }) => name.includes(mark))
        .map(({ data }) => data)
        .toSorted(),
    )
  }

  /**
   * The current members.
   *
   *     console.log(await party.members()) // ['host-17']
   */
  async members(options: CallOptions = {}): Promise<readonly string[]> {
    await using guests = await this.watch(options)
    return guests.current
  }
}
