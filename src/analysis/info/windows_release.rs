//! Names of Windows releases by build. Traces have the build; people know the release.
//!
//! Source: Microsoft's release information pages for Windows 10, Windows 11 and Windows Server.

/// Build, release for clients, release for servers of the same build.
const RELEASES: [(u32, &str, &str); 29] = [
    (6000, "Windows Vista", ""),
    (6001, "Windows Vista SP1", "Windows Server 2008"),
    (6002, "Windows Vista SP2", "Windows Server 2008 SP2"),
    (7600, "Windows 7", "Windows Server 2008 R2"),
    (7601, "Windows 7 SP1", "Windows Server 2008 R2 SP1"),
    (9200, "Windows 8", "Windows Server 2012"),
    (9600, "Windows 8.1", "Windows Server 2012 R2"),
    (10240, "Windows 10 1507", ""),
    (10586, "Windows 10 1511", ""),
    (14393, "Windows 10 1607", "Windows Server 2016"),
    (15063, "Windows 10 1703", ""),
    (16299, "Windows 10 1709", "Windows Server 1709"),
    (17134, "Windows 10 1803", "Windows Server 1803"),
    (17763, "Windows 10 1809", "Windows Server 2019"),
    (18362, "Windows 10 1903", "Windows Server 1903"),
    (18363, "Windows 10 1909", "Windows Server 1909"),
    (19041, "Windows 10 2004", "Windows Server 2004"),
    (19042, "Windows 10 20H2", "Windows Server 20H2"),
    (19043, "Windows 10 21H1", ""),
    (19044, "Windows 10 21H2", ""),
    (19045, "Windows 10 22H2", ""),
    (20348, "Windows Server 2022", "Windows Server 2022"),
    (22000, "Windows 11 21H2", ""),
    (22621, "Windows 11 22H2", ""),
    (22631, "Windows 11 23H2", ""),
    (25398, "Windows Server 23H2", "Windows Server 23H2"),
    (26100, "Windows 11 24H2", "Windows Server 2025"),
    (26200, "Windows 11 25H2", ""),
    (2600, "Windows XP", ""),
];

/// The release of a build; `None` for builds without a public name. A client, unless the product's name says server.
pub fn release(build: u32, product: Option<&str>) -> Option<&'static str> {
    let (_, client, server) = RELEASES.iter().find(|(known, ..)| *known == build)?;
    let is_server = !server.is_empty() && product.is_some_and(|product| product.contains("Server"));
    Some(if is_server { server } else { client })
}

#[cfg(test)]
mod tests {
    use super::release;

    #[test]
    fn builds_have_the_names_that_people_know() {
        assert_eq!(release(26100, None), Some("Windows 11 24H2"));
        assert_eq!(release(26100, Some("Windows Server 2025 Datacenter, x")), Some("Windows Server 2025"));
        assert_eq!(release(19045, Some("Windows 10.0.19045.3448")), Some("Windows 10 22H2"));
        assert_eq!((release(0, None), release(26101, None)), (None, None));
    }
}
